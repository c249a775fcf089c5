#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "kernels/ops.hpp"

// Kernels on rows of activations, for T = float and __nv_bfloat16. Each call only launches; pointers are
// device memory, 16-byte aligned, and every count of channels is a multiple of 8.
namespace shardgpt::cuda {

/// As Ops::embedding_forward.  tokens [rows * seq_len]; out [rows * seq_len, channels].
template <class T>
void embedding_forward(cudaStream_t stream, BatchShape shape, std::int64_t channels,
                       const std::int32_t* tokens, const T* wte, const T* wpe, T* out);

template <class T>
struct LayerNormForwardArgs {
  std::int64_t rows = 0;
  int channels = 0;
  const T* residual_in = nullptr;
  const T* branch = nullptr;  ///< may be null
  T* residual_out = nullptr;  ///< may be null where `branch` is; may be residual_in
  const T* weight = nullptr;
  const T* bias = nullptr;
  T* out = nullptr;
  float* mean = nullptr;
  float* rstd = nullptr;
  float epsilon = 0;
};
template <class T>
void layer_norm_forward(cudaStream_t stream, const LayerNormForwardArgs<T>& args);

/// Rows of layer norm whose weight gradients one block sums.
inline constexpr std::int64_t layer_norm_part_rows = 16;
/// Most channels of layer_norm_backward: one block spans a row.
inline constexpr std::int64_t most_channels = 4096;

template <class T>
struct LayerNormBackwardArgs {
  std::int64_t rows = 0;
  int channels = 0;
  const T* dout = nullptr;
  const T* input = nullptr;
  const T* weight = nullptr;
  const float* mean = nullptr;
  const float* rstd = nullptr;
  const T* dresidual_in = nullptr;  ///< may be null
  T* dresidual_out = nullptr;       ///< may be dresidual_in
  /// Workspace [ceil(rows / layer_norm_part_rows), 2 * channels]: per part the sums of dweight, then dbias.
  float* parts = nullptr;
};
/// Writes dresidual_out and the partial sums; sum_parts ends it.
template <class T>
void layer_norm_backward(cudaStream_t stream, const LayerNormBackwardArgs<T>& args);

/// out = gelu(pre), tanh form.
template <class T>
void gelu_forward(cudaStream_t stream, std::int64_t count, const T* pre, T* out);
/// dpre = dout * gelu'(pre); dpre may be dout.
template <class T>
void gelu_backward(cudaStream_t stream, std::int64_t count, const T* pre, const T* dout, T* dpre);

/// Rows that one partial sum of column_sums covers.
inline constexpr std::int64_t column_part_rows = 128;
/// Partial sums of the columns of values [rows, cols] into parts [ceil(rows / column_part_rows), cols].
template <class T>
void column_sums(cudaStream_t stream, std::int64_t rows, std::int64_t cols, const T* values, float* parts);

/// Where the sum of partial sums goes: the first `first_count` columns to `first`, the others to `second`.
struct SumTarget {
  float* first = nullptr;
  std::int64_t first_count = 0;
  float* second = nullptr;
  std::int64_t second_count = 0;
  Write write = Write::overwrite;
};
/// Adds up the rows of parts [count, first_count + second_count] in a fixed order. No rows: sums of zero.
void sum_parts(cudaStream_t stream, std::int64_t count, const float* parts, const SumTarget& target);

}  // namespace shardgpt::cuda
