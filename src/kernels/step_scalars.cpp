#include "kernels/step_scalars.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardgpt {

void update_step_scalars(const StepSums& reduced, double clip, StepScalars& scalars) {
  const bool has_targets = reduced.targets > 0;
  scalars.targets = reduced.targets;
  scalars.signals = reduced.signals;
  scalars.loss = has_targets ? reduced.loss / reduced.targets : 0.0;
  scalars.grad_norm = has_targets ? std::sqrt(reduced.grad_norm_squared) / reduced.targets : 0.0;
  const bool apply = has_targets && std::isfinite(scalars.loss) && std::isfinite(scalars.grad_norm);
  scalars.applied = apply ? 1 : 0;
  if (apply) {
    const double coefficient = clip > 0 ? std::min(1.0, clip / (scalars.grad_norm + 1e-6)) : 1.0;
    scalars.grad_scale = coefficient / reduced.targets;
    ++scalars.adam_step;
  } else {
    scalars.grad_scale = 0;
    ++scalars.skipped_total;
  }
}

void add_norm_parts(const double* parts, std::int64_t count, StepSums& sums) {
  sums.grad_norm_squared = std::accumulate(parts, parts + count, 0.0);
}

}  // namespace shardgpt
