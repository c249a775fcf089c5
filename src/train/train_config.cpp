#include "train/train_config.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace shardgpt {
namespace {

void require_at_least(const char* option, std::int64_t value, std::int64_t least) {
  SHARDGPT_REQUIRE(value >= least, std::string(option) + " is " + std::to_string(value) +
                                       ", wanted at least " + std::to_string(least));
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
  require_at_least("--seq-len", data.seq_len, 1);
  require_at_least("--global-batch", data.global_batch, 1);
  require_at_least("--micro-batch", data.micro_batch, 0);
  require_at_least("--steps", data.steps, 0);
  require_at_least("--epochs", data.epochs, 0);
  SHARDGPT_REQUIRE((data.steps > 0) != (data.epochs > 0), "give either --steps or --epochs, and one of them");
  require_at_least("--seed", data.seed, 0);
  for (const auto& [option, value] :
       {std::pair{"--layers", model.layers}, std::pair{"--heads", model.heads},
        std::pair{"--embd", model.embd}, std::pair{"--vocab", model.vocab},
        std::pair{"--positions", model.positions}, std::pair{"--checkpoint-every", run.checkpoint_every},
        std::pair{"--keep", run.keep}, std::pair{"--val-every", run.val_every},
        std::pair{"--val-windows", run.val_windows}, std::pair{"--max-seconds", run.max_seconds},
        std::pair{"--max-steps-this-run", run.max_steps_this_run}, std::pair{"--plan-ranks", run.plan_ranks},
        std::pair{"--threads", device.threads}}) {
    require_at_least(option, value, 0);
  }
  require_at_least("--log-every", run.log_every, 1);
  require_at_least("--unshard-slots", device.unshard_slots, 2);
  require_at_least("--peer-timeout", device.peer_timeout, 1);
  SHARDGPT_REQUIRE(std::isfinite(optimizer.clip) && optimizer.clip >= 0,
                   "--clip must be a number that is not negative (0: no clipping)");
  SHARDGPT_REQUIRE(std::isfinite(run.peak_tflops) && run.peak_tflops >= 0,
                   "--peak-tflops must be a number that is not negative");
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
