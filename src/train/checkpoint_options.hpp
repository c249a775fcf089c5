#pragma once

#include "checkpoint/writer.hpp"
#include "train/train_config.hpp"

namespace shardgpt {

/// What validated options mean for a save.
[[nodiscard]] SaveOptions save_options(const CheckpointOptions& options);

}  // namespace shardgpt
