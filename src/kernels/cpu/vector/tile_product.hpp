#pragma once

#include <cstddef>

#include "kernels/cpu/vector/vector_math.hpp"

SHARDGPT_VECTOR_BEGIN

// Small matrix products C += A * B on packed tiles. The inner dimension is counted in words of 32 bits: one
// float, or a pair of bf16 of two neighbouring inner indices, so that both element types share one loop. A is
// read one word at a time with any two strides; a row of B and of C is contiguous.

inline constexpr int vector_floats = __BIGGEST_ALIGNMENT__ / 4;  // of the instruction set compiled for
using Vector = float __attribute__((vector_size(__BIGGEST_ALIGNMENT__), may_alias));
using BitsVector = std::uint32_t __attribute__((vector_size(__BIGGEST_ALIGNMENT__), may_alias));

/// Tile extents are multiples of these; smaller operands are padded with zeros.
inline constexpr std::int64_t tile_rows = 4;
inline constexpr std::int64_t tile_cols = 16;

/// Words are floats.
struct FloatDot {
  static constexpr int pack = 1;
  using Word = float;
  [[gnu::always_inline]] static Vector multiply_add(Vector sum, Word a, Vector b) { return sum + a * b; }
  /// The word of a stored value; `high` is the next inner index, which a float word does not hold.
  template <class T>
  [[gnu::always_inline]] static Word word(T low, T /*high*/) {
    return load(low);
  }
  /// Words of neighbours in a row.
  static void pack_row(std::int64_t count, const float* values, Word* to) {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = values[i];
    }
  }
  /// Words of elements of two rows that follow each other; here each row is its own.
  static void pack_pairs(std::int64_t count, const float* first, const float* /*second*/, Word* to) {
    pack_row(count, first, to);
  }
};

/// A block of `a`: word (row, depth) stands at data[row * row_stride + depth * depth_stride].
template <class Word>
struct LeftOperand {
  const Word* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t depth_stride = 0;
};

/// One register tile: Rows x (Cols vectors).
template <class Dot, int Rows, int Cols>
[[gnu::always_inline]] inline void multiply_block(std::int64_t depth, LeftOperand<typename Dot::Word> a,
                                                  const typename Dot::Word* b, std::int64_t b_stride,
                                                  float* c, std::int64_t c_stride, bool accumulate) {
  Vector sums[std::size_t{Rows}][std::size_t{Cols}];
  for (int row = 0; row < Rows; ++row) {
    for (int col = 0; col < Cols; ++col) {
      const Vector zero = {};
      sums[row][col] =
          accumulate ? *reinterpret_cast<const Vector*>(c + row * c_stride + col * vector_floats) : zero;
    }
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    Vector right[std::size_t{Cols}];
    for (int col = 0; col < Cols; ++col) {
      right[col] = *reinterpret_cast<const Vector*>(b + k * b_stride + col * vector_floats);
    }
    for (int row = 0; row < Rows; ++row) {
      const typename Dot::Word left = a.data[row * a.row_stride + k * a.depth_stride];
      for (int col = 0; col < Cols; ++col) {
        sums[row][col] = Dot::multiply_add(sums[row][col], left, right[col]);
      }
    }
  }
  for (int row = 0; row < Rows; ++row) {
    for (int col = 0; col < Cols; ++col) {
      *reinterpret_cast<Vector*>(c + row * c_stride + col * vector_floats) = sums[row][col];
    }
  }
}

/// C[rows, cols] = A * B, or += with `accumulate`. `depth` in words; rows and cols are multiples of tile_rows
/// and tile_cols; B and C aligned to 64 bytes with strides that keep it.
template <class Dot>
void multiply(std::int64_t rows, std::int64_t cols, std::int64_t depth, LeftOperand<typename Dot::Word> a,
              const typename Dot::Word* b, std::int64_t b_stride, float* c, std::int64_t c_stride,
              bool accumulate) {
  constexpr int rows_at_once = 4;
  constexpr int wide = vector_floats == 16 ? 4 : 2;  // as many sums as the registers hold
  constexpr int narrow = vector_floats == 16 ? 1 : 2;
  std::int64_t col = 0;
  for (; col + wide * vector_floats <= cols; col += wide * vector_floats) {
    for (std::int64_t row = 0; row < rows; row += rows_at_once) {
      const LeftOperand<typename Dot::Word> block{a.data + row * a.row_stride, a.row_stride, a.depth_stride};
      multiply_block<Dot, rows_at_once, wide>(depth, block, b + col, b_stride, c + row * c_stride + col,
                                              c_stride, accumulate);
    }
  }
  for (; col < cols; col += narrow * vector_floats) {
    for (std::int64_t row = 0; row < rows; row += rows_at_once) {
      const LeftOperand<typename Dot::Word> block{a.data + row * a.row_stride, a.row_stride, a.depth_stride};
      multiply_block<Dot, rows_at_once, narrow>(depth, block, b + col, b_stride, c + row * c_stride + col,
                                                c_stride, accumulate);
    }
  }
}

SHARDGPT_VECTOR_END
