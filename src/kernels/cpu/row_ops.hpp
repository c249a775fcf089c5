#pragma once

#include <algorithm>
#include <cstdint>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "kernels/cpu/cpu_context.hpp"
#include "kernels/cpu/parallel.hpp"

namespace shardgpt::cpu {

/// sums[cols] = or += the rows of parts, in order; `stride` floats from one row to the next.
inline void reduce_parts(const CpuContext& context, std::int64_t rows, std::int64_t cols, const float* parts,
                         std::int64_t stride, Write write, float* sums) {
  parallel_ranges(cols, rows, [&](std::int64_t first, std::int64_t last, int) {
    context.vector.reduce_rows(rows, last - first, parts + first, stride, write == Write::accumulate,
                               sums + first);
  });
}

template <class T>
void embedding_forward(const CpuContext& context, BatchShape shape, const std::int32_t* tokens,
                       std::int64_t channels, const T* wte, const T* wpe, T* out) {
  parallel_for(shape.tokens(), channels, [&](std::int64_t row, int) {
    element_kernels<T>(context).add(channels, wte + tokens[row] * channels,
                                    wpe + row % shape.seq_len * channels, out + row * channels);
  });
}

/// Each thread adds its columns of all rows, in token order.
template <class T>
void embedding_backward(const CpuContext& context, BatchShape shape, const std::int32_t* tokens,
                        std::int64_t channels, const T* dout, float* dwte, float* dwpe) {
  parallel_ranges(channels, shape.tokens(), [&](std::int64_t first, std::int64_t last, int) {
    const auto add = element_kernels<T>(context).add_to_sums;
    for (std::int64_t row = 0; row < shape.tokens(); ++row) {
      const T* gradient = dout + row * channels + first;
      add(last - first, gradient, dwte + tokens[row] * channels + first);
      add(last - first, gradient, dwpe + row % shape.seq_len * channels + first);
    }
  });
}

template <class T>
void layer_norm_forward(const CpuContext& context, const Ops::LayerNormForward& a) {
  const std::int64_t channels = a.out.cols;
  parallel_ranges(a.out.rows, channels, [&](std::int64_t first, std::int64_t last, int) {
    const auto from_first = [&](const Matrix& matrix) {
      return matrix.data == nullptr ? nullptr : elements<T>(matrix) + first * channels;
    };
    element_kernels<T>(context).layer_norm_forward(
        {last - first, channels, from_first(a.residual_in), from_first(a.branch), from_first(a.residual_out),
         static_cast<const T*>(a.weight), static_cast<const T*>(a.bias), from_first(a.out), a.mean + first,
         a.rstd + first, a.epsilon});
  });
}

template <class T>
void layer_norm_backward(const CpuContext& context, const Ops::LayerNormBackward& a) {
  const std::int64_t channels = a.dout.cols;
  const std::int64_t parts = ceil_div(a.dout.rows, rows_per_part);
  auto* sums = context.partial_sums.as<float>();
  parallel_for(parts, rows_per_part * channels, [&](std::int64_t part, int) {
    const std::int64_t first = part * rows_per_part;
    const auto from_first = [&](const Matrix& matrix) {
      return matrix.data == nullptr ? nullptr : elements<T>(matrix) + first * channels;
    };
    element_kernels<T>(context).layer_norm_backward(
        {std::min(rows_per_part, a.dout.rows - first), channels, from_first(a.dout), from_first(a.input),
         static_cast<const T*>(a.weight), a.mean + first, a.rstd + first, from_first(a.dresidual_in),
         from_first(a.dresidual_out), sums + part * 2 * channels, sums + (part * 2 + 1) * channels});
  });
  reduce_parts(context, parts, channels, sums, 2 * channels, a.write, a.dweight);
  reduce_parts(context, parts, channels, sums + channels, 2 * channels, a.write, a.dbias);
}

/// sums[cols] = or += column sums of `values`.
template <class T>
void column_sums(const CpuContext& context, const Matrix& values, Write write, float* sums) {
  const std::int64_t parts = ceil_div(values.rows, rows_per_part);
  auto* partial = context.partial_sums.as<float>();
  parallel_for(parts, rows_per_part * values.cols, [&](std::int64_t part, int) {
    const std::int64_t first = part * rows_per_part;
    element_kernels<T>(context).column_sums(std::min(rows_per_part, values.rows - first), values.cols,
                                            elements<T>(values) + first * values.cols,
                                            partial + part * values.cols);
  });
  reduce_parts(context, parts, values.cols, partial, values.cols, write, sums);
}

template <class T>
void gelu_forward(const CpuContext& context, std::int64_t count, const T* pre, T* out) {
  parallel_ranges(count, 1, [&](std::int64_t first, std::int64_t last, int) {
    element_kernels<T>(context).gelu_forward(last - first, pre + first, out + first);
  });
}

template <class T>
void gelu_backward(const CpuContext& context, std::int64_t count, const T* pre, const T* dout, T* dpre) {
  parallel_ranges(count, 1, [&](std::int64_t first, std::int64_t last, int) {
    element_kernels<T>(context).gelu_backward(last - first, pre + first, dout + first, dpre + first);
  });
}

}  // namespace shardgpt::cpu
