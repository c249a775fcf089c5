#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tests/cuda_on_host/tests/example_kernels.cuh"

namespace shardgpt::cuda::examples {

/// One block per 64 queries of a head, a warp per 16 of them; keys and values come in tiles of 64.
__global__ void __launch_bounds__(block_threads)
    causal_attention_kernel(const Bf16* q, const Bf16* k, const Bf16* v, Bf16* out, int tokens) {
  constexpr int head_size = 64;
  constexpr int stride = head_size + 8;
  constexpr float score_scale = 0.125F * 1.4426950408889634F;  // 1 / sqrt(64), for powers of two
  SHARDGPT_SHARED_ARRAY(Bf16, keys, [64][stride]);
  SHARDGPT_SHARED_ARRAY(Bf16, values, [64][stride]);
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int group = lane / 4;
  const int pair = lane % 4 * 2;
  const std::size_t head = static_cast<std::size_t>(blockIdx.y) * tokens * head_size;
  const int first_query = static_cast<int>(blockIdx.x) * 64 + thread / 32 * 16;
  std::uint32_t queries[4][4];
#pragma unroll
  for (int step = 0; step < 4; ++step) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int row = first_query + group + j % 2 * 8;
      const int column = step * 16 + pair + j / 2 * 8;
      queries[step][j] =
          row < tokens ? *reinterpret_cast<const std::uint32_t*>(q + head + row * head_size + column) : 0U;
    }
  }
  float sums[8][4] = {};
  float largest[2] = {-INFINITY, -INFINITY};
  float total[2] = {0.0F, 0.0F};
  for (int tile = 0; tile <= static_cast<int>(blockIdx.x); ++tile) {
    for (int i = thread; i < 64 * 8; i += block_threads) {
      const int row = i / 8;
      const int column = i % 8 * 8;
      const bool valid = tile * 64 + row < tokens;
      const std::size_t source =
          head + static_cast<std::size_t>(valid ? tile * 64 + row : 0) * head_size + column;
      cp_async16_zero_fill(&keys[row][column], k + source, valid);
      cp_async16_zero_fill(&values[row][column], v + source, valid);
    }
    cp_async_commit();
    cp_async_wait<0>();
    __syncthreads();
    float scores[8][4] = {};
#pragma unroll
    for (int step = 0; step < 4; ++step) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const Bf16* const key = &keys[i * 8 + group][step * 16 + pair];
        const std::uint32_t fragment[2] = {*reinterpret_cast<const std::uint32_t*>(key),
                                           *reinterpret_cast<const std::uint32_t*>(key + 8)};
        mma_m16n8k16_bf16(scores[i], queries[step], fragment);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int query = first_query + group + half * 8;
      float highest = largest[half];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float& score = scores[i][half * 2 + j];
          score = tile * 64 + i * 8 + pair + j <= query ? score * score_scale : -INFINITY;
          highest = fmaxf(highest, score);
        }
      }
      highest = fmaxf(highest, __shfl_xor_sync(whole_warp, highest, 1));
      highest = fmaxf(highest, __shfl_xor_sync(whole_warp, highest, 2));
      const float shrink = exp2f(largest[half] - highest);
      largest[half] = highest;
      total[half] *= shrink;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          sums[i][half * 2 + j] *= shrink;
          scores[i][half * 2 + j] = exp2f(scores[i][half * 2 + j] - highest);
          total[half] += scores[i][half * 2 + j];
        }
      }
    }
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      const std::uint32_t weights[4] = {pack_bf16(scores[step * 2][0], scores[step * 2][1]),
                                        pack_bf16(scores[step * 2][2], scores[step * 2][3]),
                                        pack_bf16(scores[step * 2 + 1][0], scores[step * 2 + 1][1]),
                                        pack_bf16(scores[step * 2 + 1][2], scores[step * 2 + 1][3])};
#pragma unroll
      for (int i = 0; i < 8; i += 2) {
        std::uint32_t fragments[4];
        ldmatrix_x4_trans(fragments, &values[step * 16 + lane % 16][i * 8 + lane / 16 * 8]);
        const std::uint32_t left[2] = {fragments[0], fragments[1]};
        const std::uint32_t right[2] = {fragments[2], fragments[3]};
        mma_m16n8k16_bf16(sums[i], weights, left);
        mma_m16n8k16_bf16(sums[i + 1], weights, right);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    total[half] += __shfl_xor_sync(whole_warp, total[half], 1);
    total[half] += __shfl_xor_sync(whole_warp, total[half], 2);
    const int query = first_query + group + half * 8;
    if (query < tokens) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        *reinterpret_cast<std::uint32_t*>(out + head + static_cast<std::size_t>(query) * head_size + i * 8 +
                                          pair) =
            pack_bf16(sums[i][half * 2] / total[half], sums[i][half * 2 + 1] / total[half]);
      }
    }
  }
}

}  // namespace shardgpt::cuda::examples
