#pragma once

#include "checkpoint/reader.hpp"
#include "checkpoint/writer.hpp"
#include "train/train_config.hpp"

namespace shardgpt {

/// What validated options mean for a save and for a load.
[[nodiscard]] SaveOptions save_options(const CheckpointOptions& options);
[[nodiscard]] LoadOptions load_options(const CheckpointOptions& options,
                                       LoadContent content = LoadContent::everything);

}  // namespace shardgpt
