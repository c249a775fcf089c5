#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

namespace shardgpt::cuda {

/// Causal self-attention of one micro-batch, T = float or __nv_bfloat16. All pointers are device memory.
template <class T>
struct AttentionArgs {
  std::int64_t sequences = 0;
  int seq_len = 0;
  int heads = 0;
  int head_dim = 0;
  const T* qkv = nullptr;   ///< [sequences * seq_len, 3 * heads * head_dim]: q, k, v, heads side by side
  T* out = nullptr;         ///< [sequences * seq_len, heads * head_dim]; written by forward, read by backward
  float* lse = nullptr;     ///< [sequences, heads, seq_len]; likewise
  const T* dout = nullptr;  ///< as out; backward only
  T* dqkv = nullptr;        ///< as qkv, overwritten; backward only
  float* delta = nullptr;   ///< workspace as lse; backward only
};

/// Whether tensor_attention_* serves heads of this size: a multiple of 8 up to 128. Fastest at 64 and 128,
/// others are padded to these.
[[nodiscard]] constexpr bool tensor_attention_serves(std::int64_t head_dim) {
  return head_dim % 8 == 0 && head_dim <= 128;
}
/// On tensor cores, bf16 with float accumulation, after FlashAttention-2 (Dao 2023): scores exist for one
/// tile at a time. Probabilities and score gradients are rounded to bf16 where they enter a product. The
/// backward pass runs over keys for dk and dv and over queries for dq, so that each result has one owner and
/// the order of every sum is fixed. Rows must start on 16 bytes.
void tensor_attention_forward(cudaStream_t stream, const AttentionArgs<__nv_bfloat16>& args);
void tensor_attention_backward(cudaStream_t stream, const AttentionArgs<__nv_bfloat16>& args);

/// Largest head of plain_attention_*.
inline constexpr std::int64_t plain_attention_most_head_dim = 256;
/// One warp per query or key, float arithmetic throughout: the path of --precision fp32, and of head sizes
/// that the tensor-core kernels do not serve.
template <class T>
void plain_attention_forward(cudaStream_t stream, const AttentionArgs<T>& args);
template <class T>
void plain_attention_backward(cudaStream_t stream, const AttentionArgs<T>& args);

/// delta [sequences, heads, seq_len] = sum over a head's channels of dout * out.
template <class T>
void attention_delta(cudaStream_t stream, const AttentionArgs<T>& args);

}  // namespace shardgpt::cuda
