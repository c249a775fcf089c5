#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/ops.hpp"
#include "kernels/reference/element.hpp"

namespace shardgpt::reference {

/// Ops::layer_norm_forward on [rows, channels]; `branch` and `residual_out` may be null.
template <class T>
void layer_norm_forward(std::int64_t rows, std::int64_t channels, const T* residual_in, const T* branch,
                        T* residual_out, const T* weight, const T* bias, T* out, Wide<T>* mean, Wide<T>* rstd,
                        double epsilon) {
  std::vector<double> x(static_cast<std::size_t>(channels));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t first = row * channels;
    double sum = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
      const double added = branch == nullptr ? 0.0 : load(branch[first + c]);
      const T rounded = store<T>(load(residual_in[first + c]) + added);
      if (residual_out != nullptr) {
        residual_out[first + c] = rounded;
      }
      x.data()[c] = load(rounded);  // the statistics are of what backward will read
      sum += x.data()[c];
    }
    const double row_mean = sum / static_cast<double>(channels);
    double squares = 0;
    for (const double value : x) {
      squares += (value - row_mean) * (value - row_mean);
    }
    const double row_rstd = 1.0 / std::sqrt(squares / static_cast<double>(channels) + epsilon);
    for (std::int64_t c = 0; c < channels; ++c) {
      out[first + c] = store<T>((x.data()[c] - row_mean) * row_rstd * load(weight[c]) + load(bias[c]));
    }
    mean[row] = static_cast<Wide<T>>(row_mean);
    rstd[row] = static_cast<Wide<T>>(row_rstd);
  }
}

/// Ops::layer_norm_backward on [rows, channels]; `dresidual_in` may be null.
template <class T>
void layer_norm_backward(std::int64_t rows, std::int64_t channels, const T* dout, const T* input,
                         const T* weight, const Wide<T>* mean, const Wide<T>* rstd, const T* dresidual_in,
                         T* dresidual_out, Wide<T>* dweight, Wide<T>* dbias, Write write) {
  const auto width = static_cast<std::size_t>(channels);
  std::vector<double> weight_sum(width);
  std::vector<double> bias_sum(width);
  const auto count = static_cast<double>(channels);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t first = row * channels;
    const auto normalised = [&](std::int64_t c) {
      return (load(input[first + c]) - load(mean[row])) * load(rstd[row]);
    };
    double sum = 0;
    double projected = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
      const double gradient = load(dout[first + c]);
      weight_sum.data()[c] += gradient * normalised(c);
      bias_sum.data()[c] += gradient;
      sum += gradient * load(weight[c]);
      projected += gradient * load(weight[c]) * normalised(c);
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      const double arrived = dresidual_in == nullptr ? 0.0 : load(dresidual_in[first + c]);
      const double own = load(rstd[row]) * (load(dout[first + c]) * load(weight[c]) - sum / count -
                                            normalised(c) * projected / count);
      dresidual_out[first + c] = store<T>(arrived + own);
    }
  }
  for (std::int64_t c = 0; c < channels; ++c) {
    const bool keep = write == Write::accumulate;
    dweight[c] = static_cast<Wide<T>>((keep ? load(dweight[c]) : 0.0) + weight_sum.data()[c]);
    dbias[c] = static_cast<Wide<T>>((keep ? load(dbias[c]) : 0.0) + bias_sum.data()[c]);
  }
}

}  // namespace shardgpt::reference
