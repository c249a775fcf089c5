#pragma once

#include <cstdint>

#include <cuda_bf16.h>

#include "device/cuda/warp_mma.cuh"
#include "kernels/cuda/grid.cuh"

// Tiles of bf16 in shared memory and the products on them. Fragments follow mma.m16n8k16 (PTX ISA, "Matrix
// fragments"): with group = lane / 4 and pair = lane % 4, a thread holds of a 16 x 8 accumulator
//   d[0], d[1]: row group,     columns 2 * pair and 2 * pair + 1
//   d[2], d[3]: row group + 8, the same columns.
namespace shardgpt::cuda {

inline constexpr int tile_warps = 4;
inline constexpr int tile_threads = tile_warps * warp_lanes;

/// Elements from one row of a tile of `Columns` columns to the next. The 16 bytes of padding spread eight
/// rows over all banks.
template <int Columns>
inline constexpr int tile_stride = Columns + 8;

/// Bytes of a tile in shared memory.
template <int Rows, int Columns>
inline constexpr std::size_t tile_bytes = sizeof(__nv_bfloat16) * Rows* tile_stride<Columns>;

/// Starts copying a tile; every thread of the block takes part. Rows from `valid_rows` (at least one) and
/// columns from `valid_columns` on become zero.  from [.., stride], 16-byte aligned.
template <int Rows, int Columns>
__device__ inline void copy_tile(__nv_bfloat16* tile, const __nv_bfloat16* from, std::int64_t stride,
                                 int valid_rows, int valid_columns) {
  constexpr int piece = 8;  // elements of one asynchronous copy
  constexpr int pieces = Columns / piece;
  static_assert(Rows * pieces % tile_threads == 0);
#pragma unroll
  for (int round = 0; round < Rows * pieces / tile_threads; ++round) {
    const int i = round * tile_threads + thread_index();
    const int row = i / pieces;
    const int column = i % pieces * piece;
    const bool valid = row < valid_rows && column < valid_columns;
    cp_async16_zero_fill(tile + row * tile_stride<Columns> + column,
                         from + (valid ? row * stride + column : 0), valid);
  }
}

/// A operand: rows 0 to 15 of `tile`, columns from `column` on.
template <int Columns>
__device__ inline void load_rows(std::uint32_t (&a)[4], const __nv_bfloat16* tile, int column) {
  const int lane = lane_index();
  ldmatrix_x4(a, tile + lane % 16 * tile_stride<Columns> + column + lane / 16 * 8);
}

/// B operands of two neighbouring 8-column products with the transpose of `tile`: its rows 0 to 15 are the
/// result's columns, its columns from `column` on are summed over.
template <int Columns>
__device__ inline void load_transposed(std::uint32_t (&b0)[2], std::uint32_t (&b1)[2],
                                       const __nv_bfloat16* tile, int column) {
  const int lane = lane_index();
  std::uint32_t b[4];
  ldmatrix_x4(b, tile + (lane % 8 + lane / 16 * 8) * tile_stride<Columns> + column + lane / 8 % 2 * 8);
  b0[0] = b[0];
  b0[1] = b[1];
  b1[0] = b[2];
  b1[1] = b[3];
}

/// B operands of two neighbouring 8-column products with `tile` itself: its rows 0 to 15 are summed over, its
/// columns from `column` on are the result's columns.
template <int Columns>
__device__ inline void load_columns(std::uint32_t (&b0)[2], std::uint32_t (&b1)[2], const __nv_bfloat16* tile,
                                    int column) {
  const int lane = lane_index();
  std::uint32_t b[4];
  ldmatrix_x4_trans(b, tile + lane % 16 * tile_stride<Columns> + column + lane / 16 * 8);
  b0[0] = b[0];
  b0[1] = b[1];
  b1[0] = b[2];
  b1[1] = b[3];
}

/// Sixteen columns of an accumulator, rounded to bf16, as A operand of the next product: `left` and `right`
/// are its two neighbouring 16 x 8 fragments.
__device__ inline void as_rows(std::uint32_t (&a)[4], const float (&left)[4], const float (&right)[4]) {
  a[0] = pack_bf16(left[0], left[1]);
  a[1] = pack_bf16(left[2], left[3]);
  a[2] = pack_bf16(right[0], right[1]);
  a[3] = pack_bf16(right[2], right[3]);
}

/// Stores one row of an accumulator times `factor`: row group (`half` 0) or group + 8 (1), eight columns per
/// fragment, up to `valid_columns`.
template <int Fragments>
__device__ inline void store_half(__nv_bfloat16* to, const float (&d)[Fragments][4], int half, float factor,
                                  int valid_columns) {
  const int pair = lane_index() % 4;
#pragma unroll
  for (int n = 0; n < Fragments; ++n) {
    const int column = n * 8 + pair * 2;
    if (column < valid_columns) {
      *reinterpret_cast<std::uint32_t*>(to + column) =
          pack_bf16(d[n][2 * half] * factor, d[n][2 * half + 1] * factor);
    }
  }
}

}  // namespace shardgpt::cuda
