#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/classifier_kernels.hpp"
#include "kernels/cuda/cuda_context.hpp"
#include "kernels/cuda/linear_ops.hpp"

namespace shardgpt::cuda {

/// context.logits [rows, padded vocabulary] = rows of `in` from `first` on times wte^T.
template <class T>
void multiply_logits(CudaContext& context, cudaStream_t stream, const Matrix& in, std::int64_t first,
                     std::int64_t rows, const Matrix& wte) {
  const ProductKind kind{.rows = rows,
                         .inner = wte.cols,
                         .cols = wte.rows,
                         .b = Stored::transposed,
                         .in = context.dtype,
                         .out = DType::f32};
  context.products.multiply(
      stream, kind,
      {.a = elements<const T>(in) + first * in.cols, .b = wte.data, .out = context.logits.data()});
}

/// Losses of `count` tokens from `first` on and, with `dlogits`, their logit gradients.
template <class T>
void softmax_group(CudaContext& context, cudaStream_t stream, const Ops::Classifier& a, std::int64_t first,
                   std::int64_t count, T* dlogits) {
  auto* losses = context.losses.as<double>();
  for (std::int64_t done = 0; done < count; done += context.logit_rows) {
    const std::int64_t rows = std::min(context.logit_rows, count - done);
    multiply_logits<T>(context, stream, a.in, first + done, rows, a.wte);
    softmax_loss<T>(stream, {.rows = rows,
                             .vocab = a.vocab,
                             .padded_vocab = a.wte.rows,
                             .logits = context.logits.as<float>(),
                             .targets = a.targets + first + done,
                             .losses = losses + done,
                             .dlogits = dlogits == nullptr ? nullptr : dlogits + done * a.wte.rows});
  }
  add_losses(stream, count, losses, a.targets + first, a.sums);
}

/// Ops::classifier.
template <class T>
void classifier(CudaContext& context, cudaStream_t stream, const Ops::Classifier& a) {
  T* dlogits = nullptr;
  if (a.din.data != nullptr || a.dwte != nullptr) {
    dlogits = std::is_same_v<T, float> ? context.logits.as<T>() : context.dlogits.as<T>();
  }
  for (std::int64_t first = 0; first < a.in.rows; first += context.group_rows) {
    const std::int64_t count = std::min(context.group_rows, a.in.rows - first);
    softmax_group(context, stream, a, first, count, dlogits);
    if (a.din.data != nullptr) {
      const ProductKind kind{
          .rows = count, .inner = a.wte.rows, .cols = a.wte.cols, .in = context.dtype, .out = context.dtype};
      context.products.multiply(
          stream, kind, {.a = dlogits, .b = a.wte.data, .out = elements<T>(a.din) + first * a.din.cols});
    }
    if (a.dwte != nullptr) {
      const ProductKind kind{.rows = a.wte.rows,
                             .inner = count,
                             .cols = a.wte.cols,
                             .a = Stored::transposed,
                             .in = context.dtype,
                             .out = DType::f32,
                             .write = Write::accumulate};
      context.products.multiply(
          stream, kind, {.a = dlogits, .b = elements<const T>(a.in) + first * a.in.cols, .out = a.dwte});
    }
  }
}

/// Ops::logits. The product goes to padded rows first: cuBLASLt has its fast algorithms for aligned ones.
template <class T>
void logits(CudaContext& context, cudaStream_t stream, const Matrix& in, const Matrix& wte,
            std::int64_t vocab, float* result) {
  for (std::int64_t first = 0; first < in.rows; first += context.logit_rows) {
    const std::int64_t rows = std::min(context.logit_rows, in.rows - first);
    multiply_logits<T>(context, stream, in, first, rows, wte);
    copy_columns(stream, rows, context.logits.as<float>(), wte.rows, result + first * vocab, vocab);
  }
}

}  // namespace shardgpt::cuda
