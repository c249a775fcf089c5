#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "checkpoint/checkpoint_info.hpp"
#include "dist/mpi/mpi_session.hpp"
#include "model/tensor_table.hpp"
#include "train/train_config.hpp"

namespace shardgpt {

/// Throws on all ranks where they were started with different options. Collective.
void require_same_options(const MpiComm& comm, const TrainConfig& config);

/// Where a run's model and weights come from.
struct ModelOrigin {
  ModelConfig model;
  std::optional<CheckpointInfo> resume;  ///< go on from this checkpoint
  std::optional<CheckpointInfo> init;    ///< take the weights of this one
  std::filesystem::path hf_folder;       ///< or of this Hugging Face folder; empty: neither
};

/// Decides the model: of the checkpoint that the run goes on from, of --init-from, or of the options. Where
/// the options name one too it must be the same. Reads the data set's record for a vocabulary size.
/// Collective; throws on all ranks.
[[nodiscard]] ModelOrigin find_model(const MpiComm& comm, const TrainConfig& config);

}  // namespace shardgpt
