#pragma once

#include <memory>

#include "device/device.hpp"
#include "dist/collectives.hpp"

namespace shardgpt {

/// Collectives of one rank on a CUDA device: what is gathered is in place already, a sum has one part.
[[nodiscard]] std::unique_ptr<Collectives> make_single_rank_collectives(Device& device);

}  // namespace shardgpt
