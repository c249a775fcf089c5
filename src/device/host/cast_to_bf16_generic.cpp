#include "device/host/cast_to_bf16.hpp"

namespace shardgpt {

void cast_to_bf16(bf16* out, const float* from, std::size_t count) {
  cast_to_bf16_loop(out, from, count);
}

}  // namespace shardgpt
