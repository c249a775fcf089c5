#pragma once

#include <cstddef>

#include "core/bf16.hpp"

namespace shardgpt {

/// out[i] = bf16(from[i]), on the calling thread, with the widest vectors of this machine. CMake chooses the
/// source file for the processor.
void cast_to_bf16(bf16* out, const float* from, std::size_t count);

/// Its loop, to be compiled for more than one instruction set.
[[gnu::always_inline]] inline void cast_to_bf16_loop(bf16* out, const float* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = bf16(from[i]);
  }
}

}  // namespace shardgpt
