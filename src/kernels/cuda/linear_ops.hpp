#pragma once

#include "core/checked.hpp"
#include "kernels/cuda/cuda_context.hpp"
#include "kernels/cuda/row_kernels.hpp"

namespace shardgpt::cuda {

template <class T>
[[nodiscard]] T* elements(const Matrix& matrix) {
  return static_cast<T*>(matrix.data);
}

/// Ops::linear_forward.
inline void linear_forward(CudaContext& context, cudaStream_t stream, const Matrix& in, const Matrix& weight,
                           const void* bias, const Matrix& out) {
  if (in.rows > 0) {
    const ProductKind kind{.rows = in.rows,
                           .inner = weight.rows,
                           .cols = weight.cols,
                           .in = context.dtype,
                           .out = context.dtype,
                           .epilogue = Epilogue::bias};
    context.products.multiply(stream, kind, {.a = in.data, .b = weight.data, .bias = bias, .out = out.data});
  }
}

/// Ops::linear_gelu_forward. In float, where cuBLASLt need not have the fused form, gelu is a pass of its
/// own.
template <class T>
void linear_gelu_forward(CudaContext& context, cudaStream_t stream, const Matrix& in, const Matrix& weight,
                         const void* bias, const Matrix& pre, const Matrix& out) {
  if (in.rows == 0) {
    return;
  }
  if (context.dtype == DType::f32) {
    linear_forward(context, stream, in, weight, bias, pre);
    gelu_forward(stream, pre.rows * pre.cols, elements<const T>(pre), elements<T>(out));
    return;
  }
  const ProductKind kind{.rows = in.rows,
                         .inner = weight.rows,
                         .cols = weight.cols,
                         .in = context.dtype,
                         .out = context.dtype,
                         .epilogue = Epilogue::bias_gelu};
  context.products.multiply(stream, kind,
                            {.a = in.data, .b = weight.data, .bias = bias, .pre = pre.data, .out = out.data});
}

/// Ops::linear_backward. The bias gradient is a pass of its own: cuBLASLt's can neither accumulate nor
/// promise an order of summation.
template <class T>
void linear_backward(CudaContext& context, cudaStream_t stream, const Ops::LinearBackward& a) {
  const std::int64_t rows = a.in.rows;
  const std::int64_t inner = a.weight.rows;
  const std::int64_t cols = a.weight.cols;
  if (rows > 0) {
    if (a.din.data != nullptr) {
      const ProductKind kind{.rows = rows,
                             .inner = cols,
                             .cols = inner,
                             .b = Stored::transposed,
                             .in = context.dtype,
                             .out = context.dtype};
      context.products.multiply(stream, kind, {.a = a.dout.data, .b = a.weight.data, .out = a.din.data});
    }
    const ProductKind kind{.rows = inner,
                           .inner = rows,
                           .cols = cols,
                           .a = Stored::transposed,
                           .in = context.dtype,
                           .out = DType::f32,
                           .write = a.write};
    context.products.multiply(stream, kind, {.a = a.in.data, .b = a.dout.data, .out = a.dweight});
  } else {
    sum_parts(stream, 0, nullptr, {.first = a.dweight, .first_count = inner * cols, .write = a.write});
  }
  auto* parts = context.parts.as<float>();
  column_sums(stream, rows, cols, elements<const T>(a.dout), parts);
  sum_parts(stream, ceil_div(rows, column_part_rows), parts,
            {.first = a.dbias, .first_count = cols, .write = a.write});
}

}  // namespace shardgpt::cuda
