#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "checkpoint/checkpoint_info.hpp"
#include "dist/mpi/mpi_session.hpp"
#include "tokens/sampler.hpp"
#include "tokens/token_dataset.hpp"
#include "train/run_state.hpp"
#include "train/train_config.hpp"

namespace shardgpt {

/// What the data set's record says about the tokenizer; zeros and nothing where it has no record.
struct DatasetVocabulary {
  std::int64_t size = 0;
  std::optional<std::int64_t> end_of_text_id;
};

/// Reads the record of the data set at `location` (empty: no data set). Collective; throws on all ranks.
[[nodiscard]] DatasetVocabulary read_dataset_vocabulary(const MpiComm& comm, const std::string& location);

/// Opens a data set on all ranks, makes sure that all see the same one and that its ids fit `model`: at once
/// where they are recorded or the set is smaller than 1 GB, otherwise as windows are read. `vocab_given`: the
/// user named the model's vocabulary size, so that a data set with a smaller one is accepted. Collective;
/// throws on all ranks.
[[nodiscard]] std::shared_ptr<const TokenDataset> open_dataset(const MpiComm& comm,
                                                               const std::string& location,
                                                               const ModelConfig& model, bool vocab_given);

/// The data of a run, as every rank has it.
struct RunData {
  std::shared_ptr<const TokenDataset> train;
  std::shared_ptr<const TokenDataset> validation;  ///< null: none
  std::optional<Sampler> sampler;
  std::int64_t total_steps = 0;
};

/// Opens what --data and --val-data name and plans the run's length. Collective; throws on all ranks.
[[nodiscard]] RunData open_run_data(const MpiComm& comm, const TrainConfig& config, const ModelConfig& model);

/// Throws InputError where the run that made the weights of `init` read ids of another tokenizer, as far as
/// both are recorded. Local; the same on all ranks.
void require_tokenizer_of_weights(const RunData& data, const CheckpointInfo& init);

/// What a checkpoint must agree with to go on from it.
[[nodiscard]] DataIdentity data_identity(const RunData& data, const DataOptions& options);

}  // namespace shardgpt
