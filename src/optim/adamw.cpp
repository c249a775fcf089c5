#include "optim/adamw.hpp"

#include <cmath>
#include <utility>

#include "core/error.hpp"

namespace shardgpt {

void AdamWOptions::validate() const {
  SHARDGPT_REQUIRE(beta1 >= 0 && beta1 < 1, "--beta1 must lie in [0, 1)");
  SHARDGPT_REQUIRE(beta2 >= 0 && beta2 < 1, "--beta2 must lie in [0, 1)");
  SHARDGPT_REQUIRE(std::isfinite(eps) && eps > 0, "--eps must be a positive number");
  SHARDGPT_REQUIRE(std::isfinite(weight_decay) && weight_decay >= 0,
                   "--weight-decay must be a number that is not negative");
}

AdamW::AdamW(Device& device, Ops& ops, const AdamWOptions& options,
             std::span<const std::int64_t> shard_elements, std::vector<std::vector<DecayRun>> runs)
    : ops_(ops), compute_(device.stream(StreamRole::compute)), options_(options), runs_(std::move(runs)) {
  for (const std::int64_t elements : shard_elements) {
    const auto bytes = static_cast<std::size_t>(elements) * sizeof(float);
    moments_m_.push_back(device.allocate(bytes, "Adam moments"));
    moments_v_.push_back(device.allocate(bytes, "Adam moments"));
  }
}

void AdamW::update(std::int64_t unit, float* param, const float* grad, double lr,
                   const StepScalars* scalars) {
  for (const DecayRun& run : runs_[static_cast<std::size_t>(unit)]) {
    ops_.adamw(compute_,
               {.param = param + run.begin,
                .adam_m = adam_m(unit) + run.begin,
                .adam_v = adam_v(unit) + run.begin,
                .grad = grad + run.begin,
                .count = run.count,
                .lr = lr,
                .beta1 = options_.beta1,
                .beta2 = options_.beta2,
                .eps = options_.eps,
                .weight_decay = run.decay ? options_.weight_decay : 0},
               scalars);
  }
}

}  // namespace shardgpt
