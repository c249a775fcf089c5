#pragma once

#include <cstddef>
#include <cstdint>

namespace shardgpt::cpu {

/// Serial loops that the compiler turns into vector code. The folder is compiled once per instruction set,
/// each time into a namespace of its own, and the machine's set is chosen at run time. Its files therefore
/// use no inline function of a shared header: the linker keeps one copy of such a function, and that could be
/// the copy that this machine cannot run. bf16 values are handled as their bits, std::uint16_t.

template <class T>
struct LayerNormForwardRows {
  std::int64_t rows = 0;
  std::int64_t channels = 0;
  const T* residual_in = nullptr;
  const T* branch = nullptr;  ///< or null
  T* residual_out = nullptr;  ///< or null, then `branch` is null too
  const T* weight = nullptr;
  const T* bias = nullptr;
  T* out = nullptr;
  float* mean = nullptr;
  float* rstd = nullptr;
  double epsilon = 0;
};

template <class T>
struct LayerNormBackwardRows {
  std::int64_t rows = 0;
  std::int64_t channels = 0;
  const T* dout = nullptr;
  const T* input = nullptr;
  const T* weight = nullptr;
  const float* mean = nullptr;
  const float* rstd = nullptr;
  const T* dresidual_in = nullptr;  ///< or null
  T* dresidual_out = nullptr;
  float* dweight = nullptr;  ///< [channels] overwritten with the sums over these rows
  float* dbias = nullptr;    ///< [channels] likewise
};

/// One head of one sequence; `q`, `k`, `v` (and their gradients) are columns of the same rows.
template <class T>
struct AttentionHead {
  std::int64_t seq_len = 0;
  std::int64_t head_dim = 0;
  const T* q = nullptr;
  const T* k = nullptr;
  const T* v = nullptr;
  std::int64_t qkv_stride = 0;  ///< elements from one token to the next
  std::int64_t out_stride = 0;
  float* workspace = nullptr;  ///< 64-byte aligned, attention_workspace(seq_len, head_dim) floats
};

template <class T>
struct AttentionHeadForward {
  AttentionHead<T> head;
  T* out = nullptr;
  float* lse = nullptr;  ///< [seq_len]
};

template <class T>
struct AttentionHeadBackward {
  AttentionHead<T> head;
  const T* out = nullptr;
  const T* dout = nullptr;
  const float* lse = nullptr;
  T* dq = nullptr;
  T* dk = nullptr;
  T* dv = nullptr;
};

/// What one token's softmax gives: its loss, and in place of the logits their gradient.
template <class T>
struct SoftmaxRow {
  float* logits = nullptr;  ///< [padded_vocab], overwritten
  std::int64_t vocab = 0;
  std::int64_t padded_vocab = 0;
  std::int32_t target = 0;  ///< >= 0
  T* dlogits = nullptr;     ///< [padded_vocab], may be `logits`; null: loss only
};

template <class T>
struct ElementKernels {
  /// out = a + b
  void (*add)(std::int64_t count, const T* a, const T* b, T* out) = nullptr;
  /// sums += values
  void (*add_to_sums)(std::int64_t count, const T* values, float* sums) = nullptr;
  /// sums[cols] = sums over rows of values[rows, cols]
  void (*column_sums)(std::int64_t rows, std::int64_t cols, const T* values, float* sums) = nullptr;
  void (*to_float)(std::int64_t count, const T* values, float* out) = nullptr;
  void (*from_float)(std::int64_t count, const float* values, T* out) = nullptr;
  void (*gelu_forward)(std::int64_t count, const T* pre, T* out) = nullptr;
  void (*gelu_backward)(std::int64_t count, const T* pre, const T* dout, T* dpre) = nullptr;
  void (*layer_norm_forward)(const LayerNormForwardRows<T>& rows) = nullptr;
  void (*layer_norm_backward)(const LayerNormBackwardRows<T>& rows) = nullptr;
  /// Returns -ln p(target).
  double (*softmax_loss)(const SoftmaxRow<T>& row) = nullptr;
  void (*attention_forward)(const AttentionHeadForward<T>& args) = nullptr;
  void (*attention_backward)(const AttentionHeadBackward<T>& args) = nullptr;
  std::int64_t (*attention_workspace)(std::int64_t seq_len, std::int64_t head_dim) = nullptr;
};

/// AdamW with everything that does not depend on the element worked out.
struct AdamWCoefficients {
  float grad_scale = 0;
  float beta1 = 0;
  float beta2 = 0;
  float one_minus_beta1 = 0;
  float one_minus_beta2 = 0;
  float step_size = 0;            ///< lr / (1 - beta1^t)
  float inverse_correction2 = 0;  ///< 1 / (1 - beta2^t)
  float eps = 0;
  float decay = 0;  ///< lr * weight_decay
};

struct VectorKernels {
  const char* name = "";
  ElementKernels<float> f32;
  ElementKernels<std::uint16_t> bf16;
  double (*sum_of_squares)(std::int64_t count, const float* values) = nullptr;
  /// sums = (accumulate ? sums : 0) + the rows of parts[rows, cols], in order
  void (*reduce_rows)(std::int64_t rows, std::int64_t cols, const float* parts, std::int64_t stride,
                      bool accumulate, float* sums) = nullptr;
  void (*adamw)(std::int64_t count, const AdamWCoefficients& coefficients, const float* grad, float* param,
                float* adam_m, float* adam_v) = nullptr;
};

}  // namespace shardgpt::cpu
