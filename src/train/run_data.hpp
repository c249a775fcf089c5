#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "dist/mpi/mpi_session.hpp"
#include "tokens/token_dataset.hpp"
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

}  // namespace shardgpt
