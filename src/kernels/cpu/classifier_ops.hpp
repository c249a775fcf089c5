#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/error.hpp"
#include "kernels/cpu/cpu_context.hpp"
#include "kernels/cpu/parallel.hpp"

namespace shardgpt::cpu {

/// in[rows, C] * wte[cols, C]^T, float.
inline void multiply_logits(CpuContext& context, std::int64_t rows, std::int64_t cols, const void* in,
                            const Matrix& wte, float* logits) {
  const ProductKind kind{.rows = rows,
                         .inner = wte.cols,
                         .cols = cols,
                         .b = Stored::transposed,
                         .in = context.dtype,
                         .out = DType::f32};
  context.products.multiply(kind, in, wte.data, nullptr, logits);
}

/// Losses of `count` tokens from `first` on and, with `dlogits`, their logit gradients. Float logits exist
/// for logit_rows tokens at a time; float gradients replace them in place.
template <class T>
void softmax_group(CpuContext& context, const Ops::Classifier& a, std::int64_t first, std::int64_t count,
                   T* dlogits) {
  const std::int64_t padded_vocab = a.wte.rows;
  auto* losses = context.losses.as<double>();
  for (std::int64_t done = 0; done < count; done += context.logit_rows) {
    const std::int64_t rows = std::min(context.logit_rows, count - done);
    auto* logits = context.logits.as<float>();
    multiply_logits(context, rows, padded_vocab, elements<T>(a.in) + (first + done) * a.in.cols, a.wte,
                    logits);
    parallel_for(rows, padded_vocab, [&](std::int64_t row, int) {
      const std::int32_t target = a.targets[first + done + row];
      T* gradient = dlogits == nullptr ? nullptr : dlogits + (done + row) * padded_vocab;
      losses[done + row] = 0;
      if (target >= 0) {
        losses[done + row] = element_kernels<T>(context).softmax_loss(
            {logits + row * padded_vocab, a.vocab, padded_vocab, target, gradient});
      } else if (gradient != nullptr) {
        std::fill_n(gradient, padded_vocab, T{0});
      }
    });
  }
  for (std::int64_t row = 0; row < count; ++row) {
    a.sums->loss += losses[row];
    a.sums->targets += a.targets[first + row] >= 0 ? 1 : 0;
  }
}

template <class T>
void classifier(CpuContext& context, const Ops::Classifier& a) {
  const bool differentiate = a.din.data != nullptr || a.dwte != nullptr;
  T* dlogits = nullptr;
  if (differentiate) {
    dlogits = std::is_same_v<T, float> ? context.logits.as<T>() : context.dlogits.as<T>();
  }
  ProductKind din_kind{.inner = a.wte.rows, .cols = a.wte.cols, .in = context.dtype, .out = context.dtype};
  for (std::int64_t first = 0; first < a.in.rows; first += context.group_rows) {
    const std::int64_t count = std::min(context.group_rows, a.in.rows - first);
    softmax_group(context, a, first, count, dlogits);
    if (a.din.data != nullptr) {
      if (din_kind.rows != count) {  // the first group, and a last one that is smaller
        din_kind.rows = count;
        din_kind.b = Stored::packed;
        din_kind.b =
            context.products.pack(din_kind, a.wte.data, context.packed_wte) ? Stored::packed : Stored::plain;
      }
      const void* wte = din_kind.b == Stored::packed ? context.packed_wte.data() : a.wte.data;
      context.products.multiply(din_kind, dlogits, wte, nullptr, elements<T>(a.din) + first * a.din.cols);
    }
    if (a.dwte != nullptr) {
      // The general product copies the transposed gradients 8 % faster than the blocked kernels that oneDNN
      // takes for a known size; transposing them first, as linear_backward does, would cost more than it
      // saves.
      const ProductKind kind{.rows = a.wte.rows,
                             .inner = count,
                             .cols = a.wte.cols,
                             .a = Stored::transposed,
                             .in = context.dtype,
                             .out = DType::f32,
                             .accumulate = true,
                             .any_rows = context.dtype == DType::bf16};
      context.products.multiply(kind, dlogits, elements<T>(a.in) + first * a.in.cols, nullptr, a.dwte);
    }
  }
}

}  // namespace shardgpt::cpu
