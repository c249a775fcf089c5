#pragma once

#include <cstdint>

#include "core/checked.hpp"
#include "device/cuda/launch.cuh"

namespace shardgpt::cuda {

inline constexpr int warp_lanes = 32;

[[nodiscard]] __device__ inline int thread_index() {
  return static_cast<int>(threadIdx.x);
}
[[nodiscard]] __device__ inline int block_threads() {
  return static_cast<int>(blockDim.x);
}
[[nodiscard]] __device__ inline int lane_index() {
  return thread_index() % warp_lanes;
}
[[nodiscard]] __device__ inline int warp_index() {
  return thread_index() / warp_lanes;
}
[[nodiscard]] __device__ inline int block_warps() {
  return block_threads() / warp_lanes;
}
[[nodiscard]] __device__ inline std::int64_t block_index() {
  return static_cast<std::int64_t>(blockIdx.x);
}
/// Of all threads of a one-dimensional launch.
[[nodiscard]] __device__ inline std::int64_t global_thread_index() {
  return block_index() * block_threads() + thread_index();
}
[[nodiscard]] __device__ inline std::int64_t global_threads() {
  return static_cast<std::int64_t>(gridDim.x) * block_threads();
}

/// Launch extents from sizes, checked to fit.
[[nodiscard]] inline dim3 extent(std::int64_t x, std::int64_t y = 1) {
  return {narrow<unsigned>(x), narrow<unsigned>(y), 1U};
}

/// Blocks of `threads` that cover `count` elements, but no more than fill a large device: the kernels loop.
[[nodiscard]] inline dim3 covering_blocks(std::int64_t count, int threads) {
  constexpr std::int64_t most_blocks = 2048;
  const std::int64_t blocks = ceil_div(count, std::int64_t{threads});
  return extent(blocks < most_blocks ? blocks : most_blocks);
}

/// Threads for a row of `vectors` elements or vectors: whole warps, `most` at most.
[[nodiscard]] inline dim3 row_threads(std::int64_t vectors, std::int64_t most) {
  const std::int64_t threads = round_up(vectors, std::int64_t{warp_lanes});
  return extent(threads < most ? threads : most);
}

}  // namespace shardgpt::cuda
