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
void launch_warp_exchange(const int* x, int* sums, int* votes, int count) {
  launch(warp_exchange_kernel<fault>, dim3(static_cast<unsigned>((count + 63) / 64)), dim3(64), 0, nullptr, x,
         sums, votes, count);
}

}  // namespace shardgpt::cuda::examples
