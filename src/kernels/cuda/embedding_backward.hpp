#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "kernels/ops.hpp"

namespace shardgpt::cuda {

/// Bytes of workspace that embedding_backward needs for `tokens` tokens.
[[nodiscard]] std::size_t embedding_workspace_bytes(std::int64_t tokens);

/// As Ops::embedding_backward. Token positions are sorted by token id first, so that one warp adds up all
/// rows of a token, in the order of their positions, without atomic operations.
/// tokens [rows * seq_len]; dout [rows * seq_len, channels], 16-byte aligned; workspace 8-byte aligned.
template <class T>
void embedding_backward(cudaStream_t stream, BatchShape shape, std::int64_t channels,
                        const std::int32_t* tokens, const T* dout, float* dwte, float* dwpe, void* workspace);

}  // namespace shardgpt::cuda
