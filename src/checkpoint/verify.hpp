#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint_info.hpp"

namespace shardgpt {

/// Reads every value of a checkpoint whose info was read before and compares all checksums. Local; holds one
/// piece of a tensor at a time. One sentence for each tensor and kind that is damaged; none: it is sound.
[[nodiscard]] std::vector<std::string> verify_tensors(const CheckpointInfo& info);

}  // namespace shardgpt
