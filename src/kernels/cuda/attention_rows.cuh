#pragma once

#include <cstdint>

#include "kernels/cuda/attention_kernels.hpp"

namespace shardgpt::cuda {

/// Where the rows of one head of one sequence lie.
struct HeadRows {
  std::int64_t channels;      ///< of all heads together
  std::int64_t first_token;   ///< row of the sequence's first token
  std::int64_t first_column;  ///< of the head
  std::int64_t first_lse;     ///< index into lse and delta

  /// Element of q, k or v (`which` 0, 1, 2) in row `t` of the sequence.
  [[nodiscard]] __device__ std::int64_t qkv(std::int64_t t, int which) const {
    return ((first_token + t) * 3 + which) * channels + first_column;
  }
  [[nodiscard]] __device__ std::int64_t out(std::int64_t t) const {
    return (first_token + t) * channels + first_column;
  }
  [[nodiscard]] __device__ std::int64_t qkv_stride() const { return 3 * channels; }
};

/// `index` counts heads within sequences.
template <class T>
[[nodiscard]] __device__ inline HeadRows head_rows(const AttentionArgs<T>& a, std::int64_t index) {
  const std::int64_t channels = std::int64_t{a.heads} * a.head_dim;
  return {channels, index / a.heads * a.seq_len, index % a.heads * a.head_dim, index * a.seq_len};
}

}  // namespace shardgpt::cuda
