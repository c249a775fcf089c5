// Compiled without sanitizers and optimised in every preset: it sees only dense copies, and takes the time.
#include "tests/cuda_on_host/cublaslt/multiply.hpp"

#include <algorithm>
#include <array>

namespace cuda_on_host {
namespace {

constexpr std::size_t block_rows = 4;
constexpr std::size_t block_cols = 32;
/// Terms that are added up by themselves first: one long chain would round more than any GPU does.
constexpr std::size_t piece_inner = 128;

template <std::size_t Rows>
using Block = std::array<std::array<float, block_cols>, Rows>;

/// sums += block of x [Rows, from first to last] * y.
template <std::size_t Rows>
void add_piece(Block<Rows>& sums, std::size_t first, std::size_t last, std::size_t inner, std::size_t cols,
               std::size_t width, const float* x, const float* y) {
  Block<Rows> piece{};
  for (std::size_t k = first; k < last; ++k) {
    const float* row = y + k * cols;
    for (std::size_t r = 0; r < Rows; ++r) {
      const float factor = x[r * inner + k];
      if (width == block_cols) {  // the usual case has a constant number of rounds, and becomes vector code
        for (std::size_t c = 0; c < block_cols; ++c) {
          piece[r][c] += factor * row[c];
        }
      } else {
        for (std::size_t c = 0; c < width; ++c) {
          piece[r][c] += factor * row[c];
        }
      }
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t c = 0; c < block_cols; ++c) {
      sums[r][c] += piece[r][c];
    }
  }
}

template <std::size_t Rows>
void multiply_block(std::size_t inner, std::size_t cols, std::size_t width, const float* x, const float* y,
                    float* out) {
  Block<Rows> sums{};
  for (std::size_t k = 0; k < inner; k += piece_inner) {
    add_piece(sums, k, std::min(inner, k + piece_inner), inner, cols, width, x, y);
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    std::copy_n(sums[r].data(), width, out + r * cols);
  }
}

}  // namespace

void multiply(std::size_t rows, std::size_t inner, std::size_t cols, const float* x, const float* y,
              float* out) {
  for (std::size_t col = 0; col < cols; col += block_cols) {
    const std::size_t width = std::min(block_cols, cols - col);
    std::size_t row = 0;
    for (; row + block_rows <= rows; row += block_rows) {
      multiply_block<block_rows>(inner, cols, width, x + row * inner, y + col, out + row * cols + col);
    }
    for (; row < rows; ++row) {
      multiply_block<1>(inner, cols, width, x + row * inner, y + col, out + row * cols + col);
    }
  }
}

}  // namespace cuda_on_host
