#include "train/startup.hpp"

#include <string>

#include "checkpoint/config_json.hpp"
#include "checkpoint/info_exchange.hpp"
#include "checkpoint/resume.hpp"
#include "checkpoint/run_folder.hpp"
#include "core/error.hpp"
#include "hf/hf_model.hpp"
#include "train/run_data.hpp"
#include "train/train_options.hpp"

namespace shardgpt {
namespace {

void require_same_model(const ModelConfig& found, const TrainConfig& config, const std::string& where) {
  if (!config.model.given()) {
    return;
  }
  ModelOptions options = config.model;
  if (options.vocab == 0) {
    options.vocab = found.vocab;
  }
  if (options.positions == 0 && options.preset.empty()) {
    options.positions = found.positions;
  }
  const std::string difference = config_difference(found, model_from_options(options, 0));
  SHARDGPT_REQUIRE(difference.empty(), "the options name another model than " + where + ": " + difference +
                                           ". Leave the model options out, or use another --run-dir");
}

/// Collective.
void require_file(const MpiComm& comm, const char* option, const std::filesystem::path& path) {
  run_phase(comm, [&] {
    SHARDGPT_REQUIRE(std::filesystem::exists(path),
                     std::string(option) + " " + path.string() + " does not exist");
  });
}

bool is_hf_folder(const std::filesystem::path& path) {
  return std::filesystem::exists(path / "config.json");
}

/// Takes the model of --init-from: a checkpoint, a run folder or a Hugging Face folder. Collective.
void find_initial_weights(const MpiComm& comm, const std::filesystem::path& path, ModelOrigin& origin) {
  require_file(comm, "--init-from", path);
  if (is_hf_folder(path)) {
    run_phase(comm, [&] { origin.model = HfModel(path).config(); });
    origin.hf_folder = path;
    return;
  }
  std::filesystem::path file = path;
  if (std::filesystem::is_directory(path)) {
    const auto candidates = find_resumable(comm, path);
    SHARDGPT_REQUIRE(!candidates.empty(),
                     "--init-from " + path.string() +
                         " is neither a run folder with a complete checkpoint nor a Hugging Face "
                         "folder with a config.json");
    file = candidates.front();
  }
  origin.init = read_checkpoint_info(comm, file);
  origin.model = origin.init->config;
}

}  // namespace

void require_same_options(const MpiComm& comm, const TrainConfig& config) {
  const std::string mine = options_to_json(config).dump();
  const auto first = nlohmann::json::parse(comm.broadcast(mine, 0));
  run_phase(comm, [&] {
    const nlohmann::json own = options_to_json(config);
    for (const auto& [name, value] : own.items()) {
      SHARDGPT_REQUIRE(first[name] == value, "rank " + std::to_string(comm.rank()) + " was started with --" +
                                                 name + " " + value.dump() + ", rank 0 with " +
                                                 first[name].dump() +
                                                 ": all ranks need the same options and configuration file");
    }
  });
}

ModelOrigin find_model(const MpiComm& comm, const TrainConfig& config) {
  ModelOrigin origin;
  const std::filesystem::path run_dir = config.run.run_dir;
  if (config.run.resume == "auto" && !config.run.run_dir.empty()) {
    origin.resume = newest_checkpoint_info(comm, run_dir);
  } else if (config.run.resume != "auto" && config.run.resume != "never") {
    require_file(comm, "--resume", config.run.resume);
    origin.resume = read_checkpoint_info(comm, config.run.resume);
  }
  if (origin.resume) {
    origin.model = origin.resume->config;
    require_same_model(origin.model, config, origin.resume->path.string());
    return origin;
  }
  if (!config.model.init_from.empty()) {
    find_initial_weights(comm, config.model.init_from, origin);
    require_same_model(origin.model, config, config.model.init_from);
    return origin;
  }
  const DatasetVocabulary vocabulary = read_dataset_vocabulary(comm, config.data.data);
  origin.model = model_from_options(config.model, vocabulary.size);
  if (vocabulary.end_of_text_id && *vocabulary.end_of_text_id < origin.model.vocab) {
    origin.model.eos_token = *vocabulary.end_of_text_id;
    origin.model.bos_token = *vocabulary.end_of_text_id;
  }
  return origin;
}

}  // namespace shardgpt
