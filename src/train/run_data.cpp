#include "train/run_data.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace shardgpt {
namespace {

constexpr std::int64_t scan_limit_bytes = 1'000'000'000;

void require_vocabulary_fits(const TokenDataset& dataset, const ModelConfig& model, bool vocab_given) {
  if (!dataset.manifest()) {
    return;
  }
  const std::int64_t vocab = dataset.manifest()->tokenizer.vocab_size;
  SHARDGPT_REQUIRE(
      vocab <= model.vocab && (vocab == model.vocab || vocab_given),
      "data set " + dataset.location() + " was made with a vocabulary of " + std::to_string(vocab) +
          " ids, the model has " + std::to_string(model.vocab) +
          ": the tokenizers differ. Encode the text with the model's tokenizer, or, for a new model, "
          "give --vocab");
}

}  // namespace

DatasetVocabulary read_dataset_vocabulary(const MpiComm& comm, const std::string& location) {
  DatasetVocabulary vocabulary;
  if (location.empty()) {
    return vocabulary;
  }
  run_phase(comm, [&] {
    const TokenDataset dataset = TokenDataset::open(location, /*vocab_size=*/0);
    if (dataset.manifest()) {
      vocabulary = {dataset.manifest()->tokenizer.vocab_size, dataset.manifest()->tokenizer.end_of_text_id};
    }
  });
  return vocabulary;
}

std::shared_ptr<const TokenDataset> open_dataset(const MpiComm& comm, const std::string& location,
                                                 const ModelConfig& model, bool vocab_given) {
  std::shared_ptr<const TokenDataset> dataset;
  run_phase(comm, [&] {
    dataset = std::make_shared<const TokenDataset>(TokenDataset::open(location, model.vocab));
    require_vocabulary_fits(*dataset, model, vocab_given);
  });
  const std::vector<std::string> fingerprints = comm.all_gather(dataset->fingerprint());
  for (std::size_t rank = 1; rank < fingerprints.size(); ++rank) {
    SHARDGPT_REQUIRE(fingerprints[rank] == fingerprints[0],
                     "data set " + location + ": rank " + std::to_string(rank) +
                         " sees other files than rank 0 (fingerprint " + fingerprints[rank] + " against " +
                         fingerprints[0] + "): it must be the same on all nodes");
  }
  if (!dataset->recorded_largest_id() && dataset->payload_bytes() <= scan_limit_bytes) {
    run_phase(comm, [&] {
      const std::int64_t tokens = dataset->tokens();
      dataset->check_ids(tokens * comm.rank() / comm.size(), tokens * (comm.rank() + 1) / comm.size());
    });
  }
  return dataset;
}

}  // namespace shardgpt
