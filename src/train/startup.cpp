#include "train/startup.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "checkpoint/config_json.hpp"
#include "checkpoint/info_exchange.hpp"
#include "checkpoint/resume.hpp"
#include "checkpoint/run_folder.hpp"
#include "core/error.hpp"
#include "core/this_process.hpp"
#include "device/host/host_device.hpp"
#include "hf/hf_model.hpp"
#include "train/run_data.hpp"
#include "train/train_options.hpp"

namespace shardgpt {
namespace {

/// A hash of cores, to see whether ranks of a node share them.
std::uint64_t hash_of(const std::vector<int>& cores) {
  std::uint64_t hash = 1469598103934665603U;  // FNV-1a
  for (const int core : cores) {
    hash = (hash ^ static_cast<std::uint64_t>(core)) * 1099511628211U;
  }
  return hash;
}

/// OMP_NUM_THREADS, of a list the first; 0: not set, -1: no such number.
int openmp_threads() {
  const char* given = std::getenv("OMP_NUM_THREADS");
  if (given == nullptr || *given == '\0') {
    return 0;
  }
  char* end = nullptr;
  const long value = std::strtol(given, &end, 10);
  return end != given && (*end == '\0' || *end == ',') && value > 0 && value <= 4096 ? static_cast<int>(value)
                                                                                     : -1;
}

/// The variables by which a launcher hands GPUs to a job.
std::string gpus_given_by() {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0' && std::string(value) != "NoDevFiles" &&
        std::string(value) != "-1") {
      return std::string(name) + "=" + value;
    }
  }
  return {};
}

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

void require_device(const MpiComm& comm, const DeviceOptions& options) {
  run_phase(comm, [&] {
    SHARDGPT_REQUIRE(options.device != "cuda",
                     "--device cuda: this build has no CUDA. Use --device cpu, or a build "
                     "with the preset cuda-release");
    const std::string gpus = options.device == "auto" ? gpus_given_by() : std::string();
    SHARDGPT_REQUIRE(gpus.empty(), "the job was given GPUs (" + gpus +
                                       ") and this build has no CUDA: say --device cpu to leave them unused");
    SHARDGPT_REQUIRE(options.threads > 0 || openmp_threads() >= 0,
                     std::string("OMP_NUM_THREADS is '") + std::getenv("OMP_NUM_THREADS") +
                         "', wanted a positive number; or give --threads");
    SHARDGPT_REQUIRE(!options.cpu_offload, "--cpu-offload has a meaning on CUDA devices only");
  });
}

int choose_threads(const MpiComm& comm, const DeviceOptions& options) {
  const MpiComm node = comm.split_by_node();
  const std::vector<int> cores = allowed_cores();
  const std::vector<std::uint64_t> masks = node.all_gather(hash_of(cores));
  if (options.threads > 0) {
    return static_cast<int>(options.threads);
  }
  const int from_openmp = openmp_threads();
  if (from_openmp > 0) {
    return from_openmp;
  }
  const std::ptrdiff_t sharing = std::ranges::count(masks, hash_of(cores));  // this rank is one of them
  return std::max(1, static_cast<int>(std::ssize(cores) / sharing));
}

DType dtype_from_options(const DeviceOptions& options) {
  return options.precision == "fp32" ? DType::f32 : DType::bf16;
}

std::unique_ptr<Ops> make_ops(Device& device, const DeviceOptions& options, const OpsLimits& limits) {
  // ThreadSanitizer cannot see inside oneDNN.
  const bool reference =
      options.kernels == "reference" || (options.kernels == "auto" && SHARDGPT_THREAD_SANITIZER);
  const DType dtype = dtype_from_options(options);
  return reference ? make_reference_ops(device, dtype, limits) : make_cpu_ops(device, dtype, limits);
}

std::size_t ops_workspace_bytes(const DeviceOptions& options, int threads, const OpsLimits& limits) {
  const auto device = make_host_device({.compute_threads = threads, .hooks = nullptr});
  const auto ops = make_ops(*device, options, limits);
  std::size_t bytes = 0;
  for (const MemoryUse& use : device->memory_use()) {
    bytes += use.bytes;
  }
  return bytes;
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
