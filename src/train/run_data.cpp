#include "train/run_data.hpp"

#include <algorithm>

#include <fmt/format.h>

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

/// Ids of one vocabulary mean nothing in another, even one of the same size. Empty: not recorded.
void require_same_tokenizer(const std::string& one, const std::string& one_hash, const std::string& other,
                            const std::string& other_hash, const std::string& advice) {
  SHARDGPT_REQUIRE(one_hash.empty() || other_hash.empty() || one_hash == other_hash,
                   one + " and " + other + " belong to different tokenizers (hash " + one_hash + " against " +
                       other_hash + "): " + advice);
}

SampleOrder order_from_options(const DataOptions& options) {
  return options.order == "sequential" ? SampleOrder::sequential : SampleOrder::shuffled;
}

SamplerConfig sampler_config(const TokenDataset& dataset, const DataOptions& options) {
  SamplerConfig config;
  config.tokens = dataset.tokens();
  config.seq_len = options.seq_len;
  config.global_batch = options.global_batch;
  config.order = order_from_options(options);
  config.seed = static_cast<std::uint64_t>(options.seed);
  return config;
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

RunData open_run_data(const MpiComm& comm, const TrainConfig& config, const ModelConfig& model) {
  RunData data;
  const bool vocab_given = config.model.vocab != 0;
  data.train = open_dataset(comm, config.data.data, model, vocab_given);
  if (!config.data.val_data.empty()) {
    data.validation = open_dataset(comm, config.data.val_data, model, vocab_given);
    require_same_tokenizer("--data " + config.data.data, data.train->tokenizer_hash(),
                           "--val-data " + config.data.val_data, data.validation->tokenizer_hash(),
                           "encode both with the same vocabulary");
    SHARDGPT_REQUIRE(data.validation->windows(config.data.seq_len) > 0,
                     fmt::format("--val-data {} has {} tokens, one sequence needs {}", config.data.val_data,
                                 data.validation->tokens(), config.data.seq_len + 1));
  }
  SamplerConfig sampling = sampler_config(*data.train, config.data);
  const Sampler unlimited(sampling);
  data.total_steps = config.data.steps;
  if (config.data.epochs > 0) {
    sampling.sample_limit = unlimited.samples_in_epochs(config.data.epochs);
    data.total_steps = unlimited.steps_for(sampling.sample_limit);
  }
  data.sampler.emplace(sampling);
  return data;
}

void require_tokenizer_of_weights(const RunData& data, const CheckpointInfo& init) {
  const std::string trained_with = init.state.is_object()
                                       ? init.state.value("/data/tokenizer_hash"_json_pointer, std::string())
                                       : std::string();
  require_same_tokenizer(
      "--data " + data.train->location(), data.train->tokenizer_hash(),
      "the weights of --init-from " + init.path.string(), trained_with,
      "encode the text with the vocabulary of the run that made the weights; to adapt them to "
      "another one, export them with 'shardgpt-convert to-hf' and start from that folder");
}

DataIdentity data_identity(const RunData& data, const DataOptions& options) {
  return {data.train->fingerprint(),
          data.train->tokenizer_hash(),
          options.seq_len,
          options.global_batch,
          options.order,
          options.seed};
}

}  // namespace shardgpt
