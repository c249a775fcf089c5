#pragma once

#include "kernels/ops.hpp"

namespace shardgpt {

/// The arithmetic of Ops::finish_step for Ops whose device memory is host memory. Without targets loss and
/// norm are reported as 0.
void update_step_scalars(const StepSums& reduced, double clip, StepScalars& scalars);

/// Ops::sum_norms on host memory.
void add_norm_parts(const double* parts, std::int64_t count, StepSums& sums);

}  // namespace shardgpt
