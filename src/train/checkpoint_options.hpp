#pragma once

#include "checkpoint/writer.hpp"
#include "train/train_config.hpp"

namespace shardgpt {

/// Whether training goes on while a checkpoint is written, or waits.
enum class SaveMode { beside_training, waiting };

/// What validated options mean for the saves of a run.
[[nodiscard]] SaveOptions save_options(const CheckpointOptions& options, SaveMode mode);

}  // namespace shardgpt
