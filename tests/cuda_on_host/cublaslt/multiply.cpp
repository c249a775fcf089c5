// Compiled without sanitizers and optimised in every preset: it sees only dense copies, and takes the time.
#include "tests/cuda_on_host/cublaslt/multiply.hpp"

#include <algorithm>
#include <array>

namespace cuda_on_host {
namespace {

constexpr std::size_t block_rows = 4;
constexpr std::size_t block_cols = 32;

/// One block of the result, in registers.
template <std::size_t Rows>
void multiply_block(std::size_t inner, std::size_t cols, std::size_t width, const float* x, const float* y,
                    float* out) {
  std::array<std::array<float, block_cols>, Rows> sums{};
  for (std::size_t k = 0; k < inner; ++k) {
    const float* row = y + k * cols;
    if (width == block_cols) {
      for (std::size_t r = 0; r < Rows; ++r) {
        const float factor = x[r * inner + k];
        for (std::size_t c = 0; c < block_cols; ++c) {
          sums[r][c] += factor * row[c];
        }
      }
    } else {
      for (std::size_t r = 0; r < Rows; ++r) {
        for (std::size_t c = 0; c < width; ++c) {
          sums[r][c] += x[r * inner + k] * row[c];
        }
      }
    }
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
