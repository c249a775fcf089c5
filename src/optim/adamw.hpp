#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.hpp"
#include "kernels/ops.hpp"

namespace shardgpt {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
  /// Throws InputError naming the option.
  void validate() const;
};

/// A run of elements of one shard that are all decayed or all not. `begin` counts from the shard's first
/// element.
struct DecayRun {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  bool decay = false;
};

/// AdamW on one rank's shards: holds the moments and knows which elements decay. Issues work to the compute
/// stream.
class AdamW {
 public:
  /// `shard_elements[u]`: elements of unit u's shard, padding included; `runs[u]` covers its logical
  /// elements.
  AdamW(Device& device, Ops& ops, const AdamWOptions& options, std::span<const std::int64_t> shard_elements,
        std::vector<std::vector<DecayRun>> runs);

  [[nodiscard]] float* adam_m(std::int64_t unit) {
    return moments_m_[static_cast<std::size_t>(unit)].as<float>();
  }
  [[nodiscard]] float* adam_v(std::int64_t unit) {
    return moments_v_[static_cast<std::size_t>(unit)].as<float>();
  }

  /// Updates `param` of one unit from its undivided gradient, as `scalars` say when the work runs.
  void update(std::int64_t unit, float* param, const float* grad, double lr, const StepScalars* scalars);

 private:
  Ops& ops_;
  Stream& compute_;
  AdamWOptions options_;
  std::vector<std::vector<DecayRun>> runs_;
  std::vector<Buffer> moments_m_;
  std::vector<Buffer> moments_v_;
};

}  // namespace shardgpt
