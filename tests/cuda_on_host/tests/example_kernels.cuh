#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "device/cuda/launch.cuh"
#include "device/cuda/warp_mma.cuh"
#include "tests/cuda_on_host/tests/example_kernels.hpp"
#include "tests/cuda_on_host/tests/faulty_kernels.hpp"

namespace shardgpt::cuda::examples {

using Bf16 = __nv_bfloat16;
inline constexpr unsigned whole_warp = 0xffffffffU;
inline constexpr int block_threads = 128;
inline constexpr int block_warps = block_threads / 32;

template <Fault fault>
__global__ void __launch_bounds__(block_threads)
    layer_norm_kernel(const float* x, const float* weight, const float* bias, float* y, float* rstd,
                      int columns) {
  SHARDGPT_SHARED_ARRAY(float, sums, [2][block_warps]);
  const int row = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / 32;
  const int lane = thread % 32;
  const float* const row_of_x = x + static_cast<std::size_t>(row) * columns;
  float sum = 0.0F;
  float squares = 0.0F;
  for (int i = thread; i < columns + (fault == Fault::read_past_global ? 1 : 0); i += block_threads) {
    sum += row_of_x[i];
    squares += row_of_x[i] * row_of_x[i];
  }
  for (int offset = 16; offset != 0; offset /= 2) {
    if (fault == Fault::missing_lanes && lane >= 30) {
      break;
    }
    sum += __shfl_xor_sync(whole_warp, sum, offset);
    squares += __shfl_xor_sync(whole_warp, squares, offset);
  }
  if (lane == 0) {
    sums[0][warp] = sum;
    sums[1][warp] = squares;
  }
  if constexpr (fault == Fault::skipped_barrier) {
    if (warp != 3) {
      __syncthreads();
    }
  } else if constexpr (fault == Fault::different_barriers) {
    if (warp < 2) {
      __syncthreads();
    } else {
      __syncthreads();
    }
  } else if constexpr (fault != Fault::missing_barrier) {
    __syncthreads();
  }
  float moments[2] = {0.0F, 0.0F};
  const int first = fault == Fault::read_past_shared ? 1 : 0;
  for (int i = 0; i < block_warps; ++i) {
    moments[0] += sums[0][i];
    moments[1] += (&sums[0][0])[block_warps + first + i];
  }
  const int moment = fault == Fault::local_array_overflow ? static_cast<int>(blockDim.x) / 64 : 0;
  const float mean = moments[moment] / static_cast<float>(columns);
  const float scale = rsqrtf(moments[1] / static_cast<float>(columns) - mean * mean + 1e-5F);
  if (thread == 0) {
    rstd[fault == Fault::blocks_write_one_place ? 0 : row] = scale;
  }
  for (int i = thread; i < columns; i += block_threads) {
    y[static_cast<std::size_t>(row) * columns + i] = (row_of_x[i] - mean) * scale * weight[i] + bias[i];
  }
}

/// Tiles of the products: 64 x 64 of c by four warps, each 32 x 32, 32 of k at a time.
struct ProductTile {
  static constexpr int m = 64;
  static constexpr int n = 64;
  static constexpr int k = 32;
  static constexpr int stride = k + 8;  // rows start in different banks
  static constexpr std::size_t bytes = static_cast<std::size_t>((m + n) * stride) * sizeof(Bf16);

  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = static_cast<int>(blockIdx.y) * m;
  const int column = static_cast<int>(blockIdx.x) * n;
  const int warp_row = warp / 2 * 32;
  const int warp_column = warp % 2 * 32;
};

__device__ __forceinline__ void store_product(const ProductTile& tile, const float (&sums)[2][4][4], float* c,
                                              int n) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int row = tile.row + tile.warp_row + i * 16 + tile.lane / 4;
      const int column = tile.column + tile.warp_column + j * 8 + tile.lane % 4 * 2;
      float* const out = c + static_cast<std::size_t>(row) * n + column;
      *reinterpret_cast<float2*>(out) = make_float2(sums[i][j][0], sums[i][j][1]);
      *reinterpret_cast<float2*>(out + std::size_t{8} * n) = make_float2(sums[i][j][2], sums[i][j][3]);
    }
  }
}

template <Fault fault>
__global__ void __launch_bounds__(block_threads)
    product_kernel(const Bf16* a, const Bf16* b, float* c, int n, int k) {
  SHARDGPT_DYNAMIC_SHARED(Bf16, tile_a);
  const ProductTile tile;
  constexpr int stride = ProductTile::stride;
  Bf16* const tile_b = tile_a + ProductTile::m * stride;
  const int pair_row = tile.lane / 4;
  const int pair_column = tile.lane % 4 * 2;
  float sums[2][4][4] = {};
  for (int begin = 0; begin < k; begin += ProductTile::k) {
    for (int i = static_cast<int>(threadIdx.x); i < ProductTile::m * 4; i += block_threads) {
      const int row = i / 4;
      const int column = i % 4 * 8 + (fault == Fault::misaligned_load ? 4 : 0);
      *reinterpret_cast<uint4*>(tile_a + row * stride + column) =
          *reinterpret_cast<const uint4*>(a + static_cast<std::size_t>(tile.row + row) * k + begin + column);
      *reinterpret_cast<uint4*>(tile_b + row * stride + column) = *reinterpret_cast<const uint4*>(
          b + static_cast<std::size_t>(tile.column + row) * k + begin + column);
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < ProductTile::k; step += 16) {
      std::uint32_t fragments_a[2][4];
      std::uint32_t fragments_b[4][2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int row = tile.warp_row + i * 16 + pair_row + j % 2 * 8;
          fragments_a[i][j] =
              *reinterpret_cast<const std::uint32_t*>(tile_a + row * stride + step + pair_column + j / 2 * 8);
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int row = tile.warp_column + i * 8 + pair_row;
          fragments_b[i][j] =
              *reinterpret_cast<const std::uint32_t*>(tile_b + row * stride + step + pair_column + j * 8);
        }
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          mma_m16n8k16_bf16(sums[i][j], fragments_a[i], fragments_b[j]);
        }
      }
    }
    if constexpr (fault != Fault::missing_second_barrier) {
      __syncthreads();
    }
  }
  store_product(tile, sums, c, n);
}

__device__ __forceinline__ void start_tile(const ProductTile& tile, Bf16* stage, const Bf16* a, const Bf16* b,
                                           int begin, int k) {
  for (int i = static_cast<int>(threadIdx.x); i < ProductTile::m * 4; i += block_threads) {
    const int row = i / 4;
    const int column = i % 4 * 8;
    cp_async16(stage + row * ProductTile::stride + column,
               a + static_cast<std::size_t>(tile.row + row) * k + begin + column);
    cp_async16(stage + (ProductTile::m + row) * ProductTile::stride + column,
               b + static_cast<std::size_t>(tile.column + row) * k + begin + column);
  }
}

template <Fault fault>
__global__ void __launch_bounds__(block_threads)
    product_async_kernel(const Bf16* a, const Bf16* b, float* c, int n, int k) {
  SHARDGPT_DYNAMIC_SHARED(Bf16, stages);
  constexpr int stride = ProductTile::stride;
  constexpr int stage_values = (ProductTile::m + ProductTile::n) * stride;
  const ProductTile tile;
  float sums[2][4][4] = {};
  start_tile(tile, stages, a, b, 0, k);
  cp_async_commit();
  int stage = 0;
  for (int begin = 0; begin < k; begin += ProductTile::k) {
    if (begin + ProductTile::k < k) {
      start_tile(tile, stages + (1 - stage) * stage_values, a, b, begin + ProductTile::k, k);
    }
    cp_async_commit();
    cp_async_wait<fault == Fault::waits_one_group_short ? 2 : 1>();
    if constexpr (fault != Fault::no_barrier_after_wait) {
      __syncthreads();
    }
    const Bf16* const tile_a = stages + stage * stage_values;
    const Bf16* const tile_b = tile_a + ProductTile::m * stride;
#pragma unroll
    for (int step = 0; step < ProductTile::k; step += 16) {
      std::uint32_t fragments_a[2][4];
      std::uint32_t fragments_b[2][4];  // each of two neighbouring 16 x 8 matrices
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int row = tile.warp_row + i * 16 + tile.lane % 16;
        ldmatrix_x4(fragments_a[i], tile_a + row * stride + step + tile.lane / 16 * 8);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int row = tile.warp_column + i * 16 + tile.lane % 8 + tile.lane / 16 * 8;
        ldmatrix_x4(fragments_b[i], tile_b + row * stride + step + tile.lane / 8 % 2 * 8);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const std::uint32_t pair[2] = {fragments_b[j / 2][j % 2 * 2], fragments_b[j / 2][j % 2 * 2 + 1]};
          mma_m16n8k16_bf16(sums[i][j], fragments_a[i], pair);
        }
      }
    }
    if constexpr (fault != Fault::refill_without_barrier) {
      __syncthreads();
    }
    stage = 1 - stage;
  }
  if constexpr (fault == Fault::copies_not_awaited) {
    cp_async16(stages + threadIdx.x * 8, a);
  } else {
    cp_async_wait<0>();
  }
  store_product(tile, sums, c, n);
}

/// One block per 64 queries of a head, a warp per 16 of them; keys and values come in tiles of 64.
template <Fault fault>
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

template <Fault fault>
__global__ void warp_exchange_kernel(const int* x, int* sums, int* votes, int count) {
  SHARDGPT_SHARED_ARRAY(int, values, [2][32]);
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int own = i < count ? __ldg(x + i) : 0;
  values[warp][lane] = own;
  if constexpr (fault != Fault::missing_warp_barrier) {
    __syncwarp();
  }
  const int neighbour = values[warp][lane ^ 1];
  const unsigned positive = __ballot_sync(whole_warp, own > 0 ? 1 : 0);
  if (lane == 0) {
    votes[i / 32] = __popc(positive);
  }
  if constexpr (fault == Fault::plain_increment) {
    sums[0] += own;
  } else {
    atomicAdd(sums, own);
  }
  atomicAdd(sums + 1, neighbour);
}

template <Fault fault>
void launch_layer_norm(const float* x, const float* weight, const float* bias, float* y, float* rstd,
                       int rows, int columns) {
  launch(layer_norm_kernel<fault>, dim3(static_cast<unsigned>(rows)), dim3(block_threads), 0, nullptr, x,
         weight, bias, y, rstd, columns);
}

inline dim3 product_grid(int m, int n) {
  return dim3(static_cast<unsigned>(n / ProductTile::n), static_cast<unsigned>(m / ProductTile::m));
}

template <Fault fault>
void launch_product(const Bf16* a, const Bf16* b, float* c, int m, int n, int k) {
  const std::size_t missing = fault == Fault::short_dynamic_shared ? 64 : 0;
  launch(product_kernel<fault>, product_grid(m, n), dim3(block_threads), ProductTile::bytes - missing,
         nullptr, a, b, c, n, k);
}

template <Fault fault>
void launch_product_async(const Bf16* a, const Bf16* b, float* c, int m, int n, int k) {
  launch(product_async_kernel<fault>, product_grid(m, n), dim3(block_threads), 2 * ProductTile::bytes,
         nullptr, a, b, c, n, k);
}

template <Fault fault>
void launch_causal_attention(const Bf16* q, const Bf16* k, const Bf16* v, Bf16* out, int heads, int tokens) {
  launch(causal_attention_kernel<fault>,
         dim3(static_cast<unsigned>((tokens + 63) / 64), static_cast<unsigned>(heads)), dim3(block_threads),
         0, nullptr, q, k, v, out, tokens);
}

template <Fault fault>
void launch_warp_exchange(const int* x, int* sums, int* votes, int count) {
  launch(warp_exchange_kernel<fault>, dim3(static_cast<unsigned>((count + 63) / 64)), dim3(64), 0, nullptr, x,
         sums, votes, count);
}

}  // namespace shardgpt::cuda::examples
