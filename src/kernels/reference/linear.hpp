#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "kernels/ops.hpp"
#include "kernels/reference/element.hpp"

namespace shardgpt::reference {

/// out = in * weight + bias.  in [rows, inner], weight [inner, cols], bias [cols].
template <class T>
void linear_forward(std::int64_t rows, std::int64_t inner, std::int64_t cols, const T* in, const T* weight,
                    const T* bias, T* out) {
  std::vector<double> sums(static_cast<std::size_t>(cols));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t n = 0; n < cols; ++n) {
      sums.data()[n] = load(bias[n]);
    }
    for (std::int64_t k = 0; k < inner; ++k) {
      const double factor = load(in[row * inner + k]);
      for (std::int64_t n = 0; n < cols; ++n) {
        sums.data()[n] += factor * load(weight[k * cols + n]);
      }
    }
    std::transform(sums.begin(), sums.end(), out + row * cols, store<T>);
  }
}

/// din = dout * weight^T, where `din` is not null.
template <class T>
void linear_backward_input(std::int64_t rows, std::int64_t inner, std::int64_t cols, const T* weight,
                           const T* dout, T* din) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t k = 0; k < inner; ++k) {
      double sum = 0;
      for (std::int64_t n = 0; n < cols; ++n) {
        sum += load(dout[row * cols + n]) * load(weight[k * cols + n]);
      }
      din[row * inner + k] = store<T>(sum);
    }
  }
}

/// dweight = in^T * dout and dbias = column sums of dout.
template <class T>
void linear_backward_weight(std::int64_t rows, std::int64_t inner, std::int64_t cols, const T* in,
                            const T* dout, Wide<T>* dweight, Wide<T>* dbias, Write write) {
  std::vector<double> sums(static_cast<std::size_t>(cols));
  const auto sum_rows = [&](auto factor_of_row, Wide<T>* result) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::int64_t row = 0; row < rows; ++row) {
      const double factor = factor_of_row(row);
      for (std::int64_t n = 0; n < cols; ++n) {
        sums.data()[n] += factor * load(dout[row * cols + n]);
      }
    }
    for (std::int64_t n = 0; n < cols; ++n) {
      const double before = write == Write::accumulate ? load(result[n]) : 0.0;
      result[n] = static_cast<Wide<T>>(before + sums.data()[n]);
    }
  };
  for (std::int64_t k = 0; k < inner; ++k) {
    sum_rows([&](std::int64_t row) { return load(in[row * inner + k]); }, dweight + k * cols);
  }
  sum_rows([](std::int64_t) { return 1.0; }, dbias);
}

/// GELU in the tanh form, and its derivative.
[[nodiscard]] inline double gelu(double x) {
  const double scale = std::sqrt(2.0 / std::numbers::pi);
  return 0.5 * x * (1.0 + std::tanh(scale * (x + 0.044715 * x * x * x)));
}
[[nodiscard]] inline double gelu_derivative(double x) {
  const double scale = std::sqrt(2.0 / std::numbers::pi);
  const double tanh = std::tanh(scale * (x + 0.044715 * x * x * x));
  return 0.5 * (1.0 + tanh) + 0.5 * x * (1.0 - tanh * tanh) * scale * (1.0 + 3.0 * 0.044715 * x * x);
}

template <class T>
void gelu_forward(std::int64_t count, const T* pre, T* out) {
  std::transform(pre, pre + count, out, [](T x) { return store<T>(gelu(load(x))); });
}

/// `dpre` may be `dout`.
template <class T>
void gelu_backward(std::int64_t count, const T* pre, const T* dout, T* dpre) {
  std::transform(pre, pre + count, dout, dpre,
                 [](T x, T gradient) { return store<T>(load(gradient) * gelu_derivative(load(x))); });
}

}  // namespace shardgpt::reference
