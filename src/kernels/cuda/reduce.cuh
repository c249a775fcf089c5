#pragma once

#include "kernels/cuda/grid.cuh"

namespace shardgpt::cuda {

inline constexpr unsigned all_lanes = 0xffffffffU;

/// Sum over the warp, the same on every lane. The order of the additions is fixed.
template <class T>
[[nodiscard]] __device__ inline T warp_sum(T value) {
#pragma unroll
  for (int step = warp_lanes / 2; step > 0; step /= 2) {
    value += __shfl_xor_sync(all_lanes, value, step);
  }
  return value;
}

[[nodiscard]] __device__ inline float warp_max(float value) {
#pragma unroll
  for (int step = warp_lanes / 2; step > 0; step /= 2) {
    value = fmaxf(value, __shfl_xor_sync(all_lanes, value, step));
  }
  return value;
}

/// Sum over the block in a fixed order, valid on thread 0. `parts` is shared memory for one value per warp
/// that no one reads or writes around the call. Every thread of the block must call it.
template <class T>
[[nodiscard]] __device__ inline T block_sum_on_first(T value, T* parts) {
  const T in_warp = warp_sum(value);
  if (lane_index() == 0) {
    parts[warp_index()] = in_warp;
  }
  __syncthreads();
  T sum = 0;
  if (thread_index() == 0) {
    for (int warp = 0; warp < block_warps(); ++warp) {
      sum += parts[warp];
    }
  }
  return sum;
}

}  // namespace shardgpt::cuda
