#pragma once

#include <cstdint>

#include "core/error.hpp"
#include "kernels/cpu/cpu_context.hpp"
#include "kernels/cpu/parallel.hpp"

namespace shardgpt::cpu {

/// Calls `visit(head, offset of its rows in the output, offset of its lse)` for each sequence and head, in
/// parallel.
template <class T, class Visit>
void for_each_head(const CpuContext& context, BatchShape shape, std::int64_t heads, const Matrix& qkv,
                   Visit&& visit) {
  const std::int64_t channels = qkv.cols / 3;
  const std::int64_t head_dim = channels / heads;
  parallel_for(shape.rows * heads, shape.seq_len * shape.seq_len, [&](std::int64_t index, int thread) {
    const std::int64_t first_token = index / heads * shape.seq_len;
    const std::int64_t first_column = index % heads * head_dim;
    const T* q = elements<T>(qkv) + first_token * 3 * channels + first_column;
    const AttentionHead<T> head{
        .seq_len = shape.seq_len,
        .head_dim = head_dim,
        .q = q,
        .k = q + channels,
        .v = q + 2 * channels,
        .qkv_stride = 3 * channels,
        .out_stride = channels,
        .workspace = context.attention.as<float>() + thread * context.attention_floats};
    visit(head, first_token * channels + first_column, index * shape.seq_len);
  });
}

template <class T>
void attention_forward(const CpuContext& context, BatchShape shape, std::int64_t heads, const Matrix& qkv,
                       const Matrix& out, float* lse) {
  for_each_head<T>(
      context, shape, heads, qkv,
      [&](const AttentionHead<T>& head, std::int64_t first_out, std::int64_t first_lse) {
        element_kernels<T>(context).attention_forward({head, elements<T>(out) + first_out, lse + first_lse});
      });
}

template <class T>
void attention_backward(const CpuContext& context, BatchShape shape, std::int64_t heads, const Matrix& qkv,
                        const Matrix& out, const float* lse, const Matrix& dout, const Matrix& dqkv) {
  for_each_head<T>(context, shape, heads, qkv,
                   [&](const AttentionHead<T>& head, std::int64_t first_out, std::int64_t first_lse) {
                     T* dq = elements<T>(dqkv) + (head.q - elements<T>(qkv));
                     element_kernels<T>(context).attention_backward(
                         {head, elements<T>(out) + first_out, elements<T>(dout) + first_out, lse + first_lse,
                          dq, dq + out.cols, dq + 2 * out.cols});
                   });
}

}  // namespace shardgpt::cpu
