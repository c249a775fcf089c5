#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/bf16.hpp"
#include "core/dtype.hpp"
#include "device/host/host_device.hpp"
#include "kernels/cpu/cpu_ops.hpp"
#include "kernels/ops.hpp"
#include "random_values.hpp"

namespace shardgpt::test {

/// Values in the element type of a set of operations, kept on the host: device memory of a host device.
class Typed {
 public:
  Typed(DType type, const std::vector<double>& values) : type_(type) {
    for (const double value : values) {
      floats_.push_back(static_cast<float>(value));
      halves_.emplace_back(static_cast<float>(value));
    }
  }
  [[nodiscard]] void* data() {
    return type_ == DType::f32 ? static_cast<void*>(floats_.data()) : static_cast<void*>(halves_.data());
  }
  [[nodiscard]] Matrix matrix(std::int64_t rows, std::int64_t cols) { return {data(), rows, cols}; }
  [[nodiscard]] std::vector<double> values() const {
    std::vector<double> result;
    for (std::size_t i = 0; i < floats_.size(); ++i) {
      result.push_back(
          static_cast<double>(type_ == DType::f32 ? floats_[i] : static_cast<float>(halves_[i])));
    }
    return result;
  }

 private:
  DType type_;
  std::vector<float> floats_;
  std::vector<bf16> halves_;
};

/// One set of operations and its device.
struct Implementation {
  std::string name;
  std::unique_ptr<Device> device;
  std::unique_ptr<Ops> ops;  // after the device: it holds memory of it

  [[nodiscard]] Stream& compute() const { return device->stream(StreamRole::compute); }
};

inline Implementation make_reference(DType dtype) {
  Implementation made{"reference", make_host_device({.compute_threads = 1, .hooks = nullptr}), nullptr};
  made.ops = make_reference_ops(*made.device, dtype, {});
  return made;
}

inline Implementation make_cpu(DType dtype, const OpsLimits& limits, int threads = 2,
                               const cpu::CpuOptions& options = {}) {
  Implementation made{cpu::vector_kernels(options.instruction_set).name,
                      make_host_device({.compute_threads = threads, .hooks = nullptr}), nullptr};
  made.ops = cpu::make_ops(*made.device, dtype, limits, options);
  return made;
}

/// Every way in which this machine can run the CPU operations.
inline std::vector<cpu::CpuOptions> all_cpu_options() {
  std::vector<cpu::CpuOptions> all;
  for (const cpu::InstructionSet set : cpu::available_instruction_sets()) {
    all.push_back({set, cpu::Bf16Products::through_float});
  }
  if (cpu::has_native_bf16_products()) {
    all.push_back({cpu::available_instruction_sets().back(), cpu::Bf16Products::native});
  }
  return all;
}

}  // namespace shardgpt::test
