#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/cpu_context.hpp"
#include "kernels/cpu/row_ops.hpp"

namespace shardgpt::cpu {

inline void linear_forward(CpuContext& context, const Matrix& in, const Matrix& weight, const void* bias,
                           const Matrix& out) {
  const ProductKind kind{.rows = in.rows,
                         .inner = in.cols,
                         .cols = weight.cols,
                         .in = context.dtype,
                         .out = context.dtype,
                         .bias = true};
  context.products.multiply(kind, in.data, weight.data, bias, out.data);
}

template <class T>
void linear_backward(CpuContext& context, const Ops::LinearBackward& a) {
  column_sums<T>(context, a.dout, a.write, a.dbias);
  if (a.in.rows == 0) {
    if (a.write == Write::overwrite) {
      std::fill_n(a.dweight, a.weight.rows * a.weight.cols, 0.0F);
    }
    return;
  }
  if (a.din.data != nullptr) {
    const ProductKind kind{.rows = a.dout.rows,
                           .inner = a.dout.cols,
                           .cols = a.weight.rows,
                           .b = Stored::transposed,
                           .in = context.dtype,
                           .out = context.dtype};
    context.products.multiply(kind, a.dout.data, a.weight.data, nullptr, a.din.data);
  }
  ProductKind kind{.rows = a.in.cols,
                   .inner = a.in.rows,
                   .cols = a.dout.cols,
                   .a = Stored::transposed,
                   .in = context.dtype,
                   .out = DType::f32,
                   .accumulate = a.write == Write::accumulate};
  const void* left = a.in.data;
  if (context.transposed_in.data() != nullptr) {
    // Transposing once costs less than the strided reads inside the product: 12 to 16 % of it at GPT-2's
    // sizes.
    kind.a = Stored::plain;
    kind.a_stride = transposed_stride(a.in.rows);
    context.products.transpose(a.in.rows, a.in.cols, a.in.data, context.transposed_in.data(), kind.a_stride);
    left = context.transposed_in.data();
  }
  context.products.multiply(kind, left, a.dout.data, nullptr, a.dweight);
}

}  // namespace shardgpt::cpu
