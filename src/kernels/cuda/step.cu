#include <cfloat>

#include "kernels/cuda/optimizer_kernels.hpp"
#include "kernels/cuda/reduce.cuh"

namespace shardgpt::cuda {
namespace {

constexpr int norm_threads = 256;

/// Each block sums its stride of the values in double.
__global__ void __launch_bounds__(norm_threads)
    norm_parts_kernel(const float* values, std::int64_t count, double* parts) {
  SHARDGPT_SHARED_ARRAY(double, warp_sums, [warp_lanes]);
  double sum = 0;
  for (std::int64_t i = global_thread_index(); i < count; i += global_threads()) {
    const auto value = static_cast<double>(values[i]);
    sum += value * value;
  }
  const double total = block_sum_on_first(sum, warp_sums);
  if (thread_index() == 0) {
    parts[block_index()] = total;
  }
}

/// *out = sum of parts, by one block.
__global__ void __launch_bounds__(norm_threads)
    add_parts_kernel(const double* parts, std::int64_t count, double* out) {
  SHARDGPT_SHARED_ARRAY(double, warp_sums, [warp_lanes]);
  double sum = 0;
  for (std::int64_t i = thread_index(); i < count; i += block_threads()) {
    sum += parts[i];
  }
  const double total = block_sum_on_first(sum, warp_sums);
  if (thread_index() == 0) {
    *out = total;
  }
}

__global__ void sum_norms_kernel(const double* parts, std::int64_t count, StepSums* sums) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {  // in order; there is one part per unit
    sum += parts[i];
  }
  sums->grad_norm_squared = sum;
}

[[nodiscard]] __device__ inline bool is_finite(double value) {
  return fabs(value) <= DBL_MAX;
}

/// The arithmetic of update_step_scalars, which serves host memory.
__global__ void finish_step_kernel(const StepSums* reduced, double clip, StepScalars* scalars) {
  const bool has_targets = reduced->targets > 0;
  const double loss = has_targets ? reduced->loss / reduced->targets : 0.0;
  const double norm = has_targets ? sqrt(reduced->grad_norm_squared) / reduced->targets : 0.0;
  scalars->targets = reduced->targets;
  scalars->signals = reduced->signals;
  scalars->loss = loss;
  scalars->grad_norm = norm;
  const bool apply = has_targets && is_finite(loss) && is_finite(norm);
  scalars->applied = apply ? 1 : 0;
  if (apply) {
    const double ratio = clip / (norm + 1e-6);
    const double coefficient = clip > 0 && ratio < 1.0 ? ratio : 1.0;
    scalars->grad_scale = coefficient / reduced->targets;
    ++scalars->adam_step;
  } else {
    scalars->grad_scale = 0;
    ++scalars->skipped_total;
  }
}

}  // namespace

void norm_squared(cudaStream_t stream, const float* values, std::int64_t count, double* parts, double* out) {
  const std::int64_t wanted = ceil_div(count, std::int64_t{norm_threads});
  const std::int64_t blocks = wanted < norm_parts ? wanted : norm_parts;
  if (blocks > 0) {
    launch(norm_parts_kernel, extent(blocks), extent(norm_threads), 0, stream, values, count, parts);
  }
  launch(add_parts_kernel, extent(1), extent(norm_threads), 0, stream, parts, blocks, out);
}

void sum_norms(cudaStream_t stream, const double* parts, std::int64_t count, StepSums* sums) {
  launch(sum_norms_kernel, extent(1), extent(1), 0, stream, parts, count, sums);
}

void finish_step(cudaStream_t stream, const StepSums* reduced, double clip, StepScalars* scalars) {
  launch(finish_step_kernel, extent(1), extent(1), 0, stream, reduced, clip, scalars);
}

}  // namespace shardgpt::cuda
