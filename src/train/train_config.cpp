#include "train/train_config.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"

namespace shardgpt {
namespace {

void require_range(const std::string& option, std::int64_t value, std::int64_t least, std::int64_t most) {
  SHARDGPT_REQUIRE(value >= least && value <= most, option + " is " + std::to_string(value) + ", wanted " +
                                                        std::to_string(least) + " to " +
                                                        std::to_string(most));
}

void override_size(std::int64_t& size, std::int64_t given) {
  if (given != 0) {
    size = given;
  }
}

}  // namespace

bool ModelOptions::given() const {
  return !preset.empty() || layers != 0 || heads != 0 || embd != 0 || vocab != 0 || positions != 0;
}

void TrainConfig::validate() const {
  SHARDGPT_REQUIRE(!run.run_dir.empty() || run.dry_run,
                   "no --run-dir: name the folder for checkpoints, metrics and status");
  SHARDGPT_REQUIRE(!data.data.empty() || run.dry_run,
                   "no --data: name a folder of token shards, made by "
                   "'shardgpt-prep encode', a shard or a glob");
  // Limits far above any use keep products of sizes inside 64 bits and catch slips of the hand.
  constexpr std::int64_t most_steps = 1'000'000'000'000;
  constexpr std::int64_t most_rows = 1'000'000'000;
  constexpr std::int64_t most_size = 1 << 24;
  constexpr std::int64_t most_seconds = 1'000'000'000;
  struct Range {
    const char* option;
    std::int64_t value;
    std::int64_t least;
    std::int64_t most;
  };
  for (const Range& range : {Range{"--seq-len", data.seq_len, 1, most_size},
                             Range{"--global-batch", data.global_batch, 1, most_rows},
                             Range{"--micro-batch", data.micro_batch, 0, most_rows},
                             Range{"--steps", data.steps, 0, most_steps},
                             Range{"--epochs", data.epochs, 0, 1'000'000},
                             Range{"--seed", data.seed, 0, std::numeric_limits<std::int64_t>::max() - 1},
                             Range{"--layers", model.layers, 0, most_size},
                             Range{"--heads", model.heads, 0, most_size},
                             Range{"--embd", model.embd, 0, most_size},
                             Range{"--vocab", model.vocab, 0, most_size},
                             Range{"--positions", model.positions, 0, most_size},
                             Range{"--warmup-steps", optimizer.warmup_steps, 0, most_steps},
                             Range{"--decay-steps", optimizer.decay_steps, 0, most_steps},
                             Range{"--checkpoint-every", run.checkpoint_every, 0, most_steps},
                             Range{"--keep", run.keep, 0, most_steps},
                             Range{"--keep-every", run.keep_every, 0, most_steps},
                             Range{"--save-timeout", run.save_timeout, 1, most_seconds},
                             Range{"--max-skipped", optimizer.max_skipped, 0, most_steps},
                             Range{"--val-every", run.val_every, 0, most_steps},
                             Range{"--val-windows", run.val_windows, 0, most_steps},
                             Range{"--log-every", run.log_every, 1, most_steps},
                             Range{"--max-seconds", run.max_seconds, 0, most_seconds},
                             Range{"--end-margin", run.end_margin, -1, most_seconds},
                             Range{"--max-steps-this-run", run.max_steps_this_run, 0, most_steps},
                             Range{"--plan-ranks", run.plan_ranks, 0, 1'000'000},
                             Range{"--checkpoint-ranks-per-file", checkpoint.ranks_per_file, 0, 1'000'000},
                             Range{"--checkpoint-alignment", checkpoint.alignment, 1, std::int64_t{1} << 30},
                             Range{"--threads", device.threads, 0, 4096},
                             Range{"--unshard-slots", device.unshard_slots, 2, 4096},
                             Range{"--peer-timeout", device.peer_timeout, 1, most_seconds}}) {
    require_range(range.option, range.value, range.least, range.most);
  }
  SHARDGPT_REQUIRE(data.steps > 0 || data.epochs > 0,
                   "the run has no length: give --steps or --epochs, at least 1");
  SHARDGPT_REQUIRE(data.steps == 0 || data.epochs == 0,
                   "--steps and --epochs are both given: give one of them");
  SHARDGPT_REQUIRE(std::isfinite(optimizer.clip) && optimizer.clip >= 0,
                   "--clip must be a number that is not negative (0: no clipping)");
  SHARDGPT_REQUIRE(std::isfinite(run.checkpoint_minutes) && run.checkpoint_minutes >= 0,
                   "--checkpoint-minutes must be a number that is not negative (0: not by the clock)");
  SHARDGPT_REQUIRE(std::isfinite(run.mtbf_hours) && run.mtbf_hours > 0,
                   "--mtbf-hours must be a positive number");
  SHARDGPT_REQUIRE(std::isfinite(run.peak_tflops) && run.peak_tflops >= 0,
                   "--peak-tflops must be a number that is not negative");
  for (const std::string& hint : checkpoint.hints) {
    const std::size_t equals = hint.find('=');
    SHARDGPT_REQUIRE(
        equals != std::string::npos && equals > 0 && equals + 1 < hint.size(),
        "--checkpoint-hint is '" + hint + "', wanted KEY=VALUE, such as cb_buffer_size=16777216");
    // Less than the limits of Open MPI and MPICH.
    SHARDGPT_REQUIRE(
        equals <= 32 && hint.size() - equals - 1 <= 255,
        "--checkpoint-hint is '" + hint + "', wanted a key of at most 32 bytes and a value of at most 255");
  }
  SHARDGPT_REQUIRE(checkpoint.ranks_per_file == 0 || checkpoint.files == "node",
                   "--checkpoint-ranks-per-file has a meaning with --checkpoint-files node only");
  optimizer.adamw.validate();
  // What depends on the number of steps is checked again when it is known.
  LearningRateSchedule schedule = schedule_from_options(optimizer, std::max<std::int64_t>(1, data.steps));
  if (data.steps > 0) {
    schedule.validate();
  }
}

ModelConfig model_from_options(const ModelOptions& options, std::int64_t dataset_vocab) {
  ModelConfig config;
  if (!options.preset.empty()) {
    const auto preset = model_preset(options.preset);
    std::string names;
    for (const std::string& name : model_preset_names()) {
      names += (names.empty() ? "" : ", ") + name;
    }
    SHARDGPT_REQUIRE(preset.has_value(), "--model is '" + options.preset + "', wanted one of " + names);
    config = *preset;
  } else {
    SHARDGPT_REQUIRE(options.layers > 0 && options.heads > 0 && options.embd > 0,
                     "no model: give --model NAME, or --layers, --heads and --embd");
    if (dataset_vocab > 0) {
      config.vocab = dataset_vocab;
    }
  }
  override_size(config.layers, options.layers);
  override_size(config.heads, options.heads);
  override_size(config.embd, options.embd);
  override_size(config.vocab, options.vocab);
  override_size(config.positions, options.positions);
  config.bos_token = std::min(config.bos_token, config.vocab - 1);
  config.eos_token = std::min(config.eos_token, config.vocab - 1);
  config.validate();
  return config;
}

LearningRateSchedule schedule_from_options(const OptimizerOptions& options, std::int64_t total_steps) {
  LearningRateSchedule schedule;
  const auto kind = schedule_kind(options.schedule);
  SHARDGPT_REQUIRE(kind.has_value(),
                   "--schedule is '" + options.schedule + "', wanted cosine, linear, constant or wsd");
  schedule.kind = *kind;
  schedule.lr = options.lr;
  schedule.min_lr = options.min_lr;
  schedule.warmup_steps = options.warmup_steps;
  schedule.decay_steps = options.decay_steps;
  schedule.total_steps = total_steps;
  return schedule;
}

}  // namespace shardgpt
