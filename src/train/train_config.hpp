#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model_config.hpp"
#include "optim/adamw.hpp"
#include "optim/schedule.hpp"

namespace shardgpt {

/// Which model: a preset's name, or sizes of its own; 0 means "not given".
struct ModelOptions {
  std::string preset;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t embd = 0;
  std::int64_t vocab = 0;
  std::int64_t positions = 0;
  std::string init_from;  ///< checkpoint whose weights training starts from

  /// Whether any size or preset was given.
  [[nodiscard]] bool given() const;
};

struct DataOptions {
  std::string data;      ///< folder, shard or glob
  std::string val_data;  ///< the same, or empty: no validation
  std::int64_t seq_len = 1024;
  std::int64_t global_batch = 8;
  std::int64_t micro_batch = 0;  ///< 0: what is left per rank, at most 4
  std::int64_t steps = 0;
  std::int64_t epochs = 0;
  std::string order = "shuffled";
  std::int64_t seed = 1337;
};

struct OptimizerOptions {
  double lr = 3e-4;
  double min_lr = 0;
  std::int64_t warmup_steps = 0;
  std::string schedule = "cosine";
  std::int64_t decay_steps = 0;
  AdamWOptions adamw;
  bool decay_all = false;
  double clip = 1.0;
  std::string on_nonfinite = "skip";
  std::int64_t max_skipped = 100;  ///< steps in a row that may be skipped as not finite; 0: no limit
};

struct DeviceOptions {
  std::string device = "auto";
  std::string precision = "bf16";
  std::string kernels = "auto";
  std::int64_t threads = 0;  ///< compute threads per rank; 0: this rank's share of the node's cores
  std::int64_t unshard_slots = 2;
  std::string recompute = "none";  ///< or mlp or block: activations that backward computes again
  bool cpu_offload = false;
  std::int64_t peer_timeout = 600;  ///< seconds
};

struct RunOptions {
  std::string run_dir;
  std::string resume = "auto";
  bool discard_run = false;
  std::int64_t checkpoint_every = 0;  ///< steps; 0: at the end and on a stop only
  double checkpoint_minutes = 0;      ///< since the last save; 0: not by the clock
  std::string save = "async";
  std::int64_t save_timeout = 1800;  ///< seconds without progress of a save or load
  double mtbf_hours = 24;            ///< mean time between failures of the job, to suggest an interval
  std::int64_t keep = 3;             ///< checkpoints kept; 0: all
  std::int64_t keep_every = 0;       ///< steps; their multiples are kept for good; 0: none
  std::int64_t val_every = 0;        ///< steps; 0: at the end only
  std::int64_t val_windows = 0;      ///< windows of the validation set that are read; 0: all
  std::int64_t log_every = 10;
  std::int64_t max_seconds = 0;
  std::int64_t end_margin = 60;  ///< seconds before the end of the batch job; -1: it is not looked at
  std::int64_t max_steps_this_run = 0;
  double peak_tflops = 0;       ///< per rank, for MFU; 0: unknown
  bool allow_one_rank = false;  ///< run alone where a launcher started several processes
  bool dry_run = false;
  std::int64_t plan_ranks = 0;  ///< ranks that --dry-run plans for; 0: those it runs on
};

/// How checkpoints are written; what is in them does not depend on it.
struct CheckpointOptions {
  std::string files = "shared";                    ///< shared or node
  std::int64_t ranks_per_file = 0;                 ///< node: most ranks of a file; 0: all of the node
  std::string io = "auto";                         ///< or collective or independent
  std::vector<std::string> hints;                  ///< for MPI-IO, KEY=VALUE each
  std::int64_t alignment = std::int64_t{1} << 20;  ///< bytes
  std::string verify = "on";                       ///< or off: read back after writing
};

/// Everything that the command line or a configuration file can say.
struct TrainConfig {
  ModelOptions model;
  DataOptions data;
  OptimizerOptions optimizer;
  DeviceOptions device;
  RunOptions run;
  CheckpointOptions checkpoint;
  std::string command_line;  ///< as it was given, for the record

  /// Throws InputError naming the option: what can be judged without data, model or peers.
  void validate() const;
};

/// The model that `options` describe. `dataset_vocab` is used where no vocabulary size was given (0:
/// unknown). The result is valid. Throws InputError.
[[nodiscard]] ModelConfig model_from_options(const ModelOptions& options, std::int64_t dataset_vocab);

/// The schedule over `total_steps`.
[[nodiscard]] LearningRateSchedule schedule_from_options(const OptimizerOptions& options,
                                                         std::int64_t total_steps);

}  // namespace shardgpt
