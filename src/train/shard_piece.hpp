#pragma once

#include <cstdint>
#include <span>

namespace shardgpt {

/// One rank's piece of one unit, without padding.
struct ShardPiece {
  std::int64_t unit = 0;
  std::int64_t begin = 0;  ///< first element within the unit
  std::span<float> param;
  std::span<float> adam_m;
  std::span<float> adam_v;
};

}  // namespace shardgpt
