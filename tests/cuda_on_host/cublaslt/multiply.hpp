#pragma once

#include <cstddef>

namespace cuda_on_host {

/// out [rows, cols] = x [rows, inner] * y [inner, cols], dense and row-major; sums are in float.
void multiply(std::size_t rows, std::size_t inner, std::size_t cols, const float* x, const float* y,
              float* out);

}  // namespace cuda_on_host
