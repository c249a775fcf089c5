#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include "core/bf16.hpp"

namespace shardgpt::cuda {

/// to[i] = from[i] rounded to nearest even, for `count` elements of device memory, on `stream`.
void cast_to_bf16(bf16* to, const float* from, std::size_t count, cudaStream_t stream);

}  // namespace shardgpt::cuda
