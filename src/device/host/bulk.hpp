#pragma once

#include <cstddef>

#include "core/bf16.hpp"

namespace shardgpt {

/// out[i] = bf16(from[i]), on the calling thread, with the widest vectors of this machine.
void cast_to_bf16(bf16* out, const float* from, std::size_t count);

/// Zeroes memory on the calling thread's OpenMP threads. For the compute thread.
void fill_zero_in_parallel(void* to, std::size_t bytes);

}  // namespace shardgpt
