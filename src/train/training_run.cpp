#include "train/training_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "checkpoint/reader.hpp"
#include "checkpoint/resume.hpp"
#include "checkpoint/run_folder.hpp"
#include "checkpoint/writer.hpp"
#include "core/log.hpp"
#include "device/host/host_device.hpp"
#include "dist/mpi/mpi_collectives.hpp"
#include "hf/hf_model.hpp"
#include "tokens/batch_prefetcher.hpp"
#include "tokens/sampler.hpp"
#include "tokens/window_batches.hpp"
#include "train/metrics.hpp"
#include "train/plan.hpp"
#include "train/run_data.hpp"
#include "train/run_directory.hpp"
#include "train/run_state.hpp"
#include "train/startup.hpp"
#include "train/stop_signal.hpp"
#include "train/train_options.hpp"
#include "train/trainer.hpp"
#include "train/version.hpp"

namespace shardgpt {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The data of a run on this rank.
struct RunData {
  std::shared_ptr<const TokenDataset> train;
  std::shared_ptr<const TokenDataset> validation;  ///< null: none
  std::optional<Sampler> sampler;
  std::int64_t total_steps = 0;
};

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

RunData open_run_data(const MpiComm& comm, const TrainConfig& config, const ModelConfig& model) {
  RunData data;
  const bool vocab_given = config.model.vocab != 0;
  data.train = open_dataset(comm, config.data.data, model, vocab_given);
  if (!config.data.val_data.empty()) {
    data.validation = open_dataset(comm, config.data.val_data, model, vocab_given);
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

DataIdentity data_identity(const RunData& data, const DataOptions& options) {
  return {data.train->fingerprint(),
          data.train->tokenizer_hash(),
          options.seq_len,
          options.global_batch,
          options.order,
          options.seed};
}

/// The loop and what it writes. Built once everything is checked.
class TrainingLoop {
 public:
  TrainingLoop(const TrainConfig& config, const MpiSession& session, const TensorTable& table, RunData data,
               RunDirectory& directory)
      : config_(config),
        comm_(session.world()),
        table_(table),
        data_(std::move(data)),
        directory_(directory),
        schedule_(schedule_from_options(config.optimizer, data_.total_steps)),
        device_(
            make_host_device({.compute_threads = choose_threads(comm_, config.device), .hooks = nullptr})),
        micro_batch_(choose_micro_batch(config.data, comm_.size())),
        ops_(make_ops(*device_, config.device, ops_limits(config, table.config(), micro_batch_))),
        collectives_(make_mpi_collectives(comm_, std::chrono::seconds(config.device.peer_timeout))),
        trainer_(*device_, *ops_, *collectives_, table,
                 {.seq_len = config.data.seq_len,
                  .global_batch = config.data.global_batch,
                  .micro_batch = micro_batch_,
                  .unshard_slots = static_cast<int>(config.device.unshard_slots),
                  .clip = config.optimizer.clip,
                  .adamw = config.optimizer.adamw,
                  .decay_all = config.optimizer.decay_all}),
        batches_(std::make_unique<SampledBatches>(data_.train, *data_.sampler, comm_.rank(), comm_.size())) {
    state_.data = data_identity(data_, config.data);
    state_.options = options_to_json(config);
    state_.version = version_text();
  }

  void start_fresh(const ModelOrigin& origin) {
    if (origin.init) {
      const auto pieces = mutable_pieces(/*parameters_only=*/true);
      load_checkpoint(comm_, *origin.init, table_, pieces, {.content = LoadContent::parameters});
      say("weights from " + origin.init->path.string());
    } else if (!origin.hf_folder.empty()) {
      const std::vector<ShardPiece> shards = trainer_.shards();
      run_phase(comm_, [&] {
        const HfModel model(origin.hf_folder);
        for (const ShardPiece& shard : shards) {
          model.read_unit_piece(shard.unit, shard.begin, shard.param);
        }
      });
      say("weights from " + origin.hf_folder.string());
    } else {
      trainer_.initialize(static_cast<std::uint64_t>(config_.data.seed));
    }
  }

  /// Loads the newest sound checkpoint of the run, or `chosen`. False: there was none after all.
  bool resume(const std::optional<std::filesystem::path>& chosen) {
    const auto pieces = mutable_pieces(/*parameters_only=*/false);
    std::optional<CheckpointInfo> info;
    if (chosen) {
      info = read_checkpoint_info(comm_, *chosen);
      load_checkpoint(comm_, *info, table_, pieces);
    } else {
      info = load_newest(comm_, directory_.path(), table_, pieces);
    }
    if (!info) {
      return false;
    }
    const RunState saved = RunState::from_json(info->state, info->path.string());
    require_same_data(saved.data, state_.data);
    for (const std::string& line : changed_options(saved.options, state_.options)) {
      say("changed since the checkpoint: " + line);
    }
    state_.step = saved.step;
    state_.tokens = saved.tokens;
    state_.counters = saved.counters;
    trainer_.set_counters(saved.counters);
    saved_step_ = chosen ? -1 : saved.step;
    say(fmt::format("resumed from {} at step {} of {}", info->path.string(), saved.step, data_.total_steps));
    return true;
  }

  ExitCode run() {
    if (state_.step >= data_.total_steps && saved_step_ == state_.step) {
      say(fmt::format("the run is finished: {} of {} steps are done", state_.step, data_.total_steps));
      set_status("finished");
      return exit_done;
    }
    set_status("running");
    if (comm_.rank() == 0) {
      metrics_.emplace(directory_.metrics_file(), state_.step);
    }
    start_ = Clock::now();
    last_report_ = start_;
    const std::int64_t first_step = state_.step;
    submitted_ = first_step;
    make_up_validation();
    bool stopping = false;
    while (submitted_ < data_.total_steps && !stopping) {
      submit_next();
      // Reports are read one step late, so that the next step's work is already issued.
      if (trainer_.pending() > 1) {
        take_report();
      }
      const bool last_of_start = config_.run.max_steps_this_run > 0 &&
                                 submitted_ - first_step >= config_.run.max_steps_this_run &&
                                 submitted_ < data_.total_steps;
      stopping = stop_agreed_ || last_of_start;
      if (stopping || submitted_ == data_.total_steps || due(config_.run.val_every) ||
          due(config_.run.checkpoint_every)) {
        drain();
        at_border(stopping && submitted_ < data_.total_steps);
      }
    }
    if (submitted_ < data_.total_steps) {
      set_status("preempted");
      say(fmt::format("stopped at step {} of {} after saving: run the same command again to go on",
                      submitted_, data_.total_steps));
      return exit_run_again;
    }
    set_status("finished");
    say(fmt::format("finished: {} steps, {} tokens, {} skipped", state_.step, state_.tokens,
                    state_.counters.skipped));
    return exit_done;
  }

 private:
  void say(const std::string& text) const {
    if (comm_.rank() == 0) {
      log_info(text);
    }
  }

  void set_status(const std::string& status) const {
    run_phase(comm_, [&] {
      if (comm_.rank() == 0) {
        directory_.write_status(status);
      }
    });
  }

  std::vector<MutableUnitPiece> mutable_pieces(bool parameters_only) {
    std::vector<MutableUnitPiece> pieces;
    for (const ShardPiece& shard : trainer_.shards()) {
      pieces.push_back({shard.unit, shard.begin, shard.param,
                        parameters_only ? std::span<float>() : shard.adam_m,
                        parameters_only ? std::span<float>() : shard.adam_v});
    }
    return pieces;
  }

  [[nodiscard]] bool due(std::int64_t interval) const { return interval > 0 && submitted_ % interval == 0; }

  void submit_next() {
    const bool time_is_up =
        config_.run.max_seconds > 0 && seconds_since(start_) >= static_cast<double>(config_.run.max_seconds);
    trainer_.submit_step(submitted_, batches_.batch(submitted_), schedule_.at(submitted_),
                         stop_signal_received() || time_is_up);
    ++submitted_;
  }

  void drain() {
    while (trainer_.pending() > 0) {
      take_report();
    }
  }

  /// Books the oldest pending step.
  void take_report() {
    const StepReport report = trainer_.collect();
    const StepScalars& scalars = report.scalars;
    const double seconds = seconds_since(last_report_);
    last_report_ = Clock::now();
    state_.step = report.step + 1;
    state_.tokens += data_.sampler->rows_in(report.step) * config_.data.seq_len;
    state_.counters = {scalars.adam_step, scalars.skipped_total};
    stop_agreed_ = stop_agreed_ || scalars.stop_request > 0;
    const double tokens_per_s =
        static_cast<double>(data_.sampler->rows_in(report.step) * config_.data.seq_len) / seconds;
    if (comm_.rank() == 0) {
      metrics_->training({.step = state_.step,
                          .loss = scalars.loss,
                          .grad_norm = scalars.grad_norm,
                          .lr = report.lr,
                          .tokens = state_.tokens,
                          .tokens_per_s = tokens_per_s,
                          .skipped = scalars.applied == 0});
      log_progress(report, seconds, tokens_per_s);
    }
    if (scalars.applied == 0) {
      on_skipped(report);
    }
  }

  void log_progress(const StepReport& report, double seconds, double tokens_per_s) const {
    if (state_.step % config_.run.log_every != 0 && state_.step != data_.total_steps && report.step != 0) {
      return;
    }
    std::string mfu = "n/a";
    if (config_.run.peak_tflops > 0) {
      const double rate = tokens_per_s * flops_per_token(table_, config_.data.seq_len);
      mfu = fmt::format("{:.1f}%", 100 * rate / (config_.run.peak_tflops * 1e12 * comm_.size()));
    }
    log_info(fmt::format("step {}/{} loss {:.4f} gnorm {:.4g} lr {:.3g} | {:.3g} s/step {:.0f} tok/s mfu {}",
                         state_.step, data_.total_steps, report.scalars.loss, report.scalars.grad_norm,
                         report.lr, seconds, tokens_per_s, mfu));
  }

  void on_skipped(const StepReport& report) const {
    const StepScalars& scalars = report.scalars;
    const std::string what = scalars.targets == 0 ? "has no target"
                                                  : fmt::format("is not finite (loss {}, gradient norm {})",
                                                                scalars.loss, scalars.grad_norm);
    if (scalars.targets != 0 && config_.optimizer.on_nonfinite == "abort") {
      throw Error(
          fmt::format("step {} {}; weights are those of the step before. Stopping, as --on-nonfinite says",
                      report.step + 1, what));
    }
    if (comm_.rank() == 0) {
      log_warning(
          fmt::format("step {} {}: skipped, {} so far", report.step + 1, what, scalars.skipped_total));
    }
  }

  /// Validation and checkpoint between two steps; nothing is pending.
  void at_border(bool stopping) {
    const bool last = submitted_ == data_.total_steps;
    if (data_.validation && (last || due(config_.run.val_every)) && !stopping) {
      validate();
    }
    if (last || stopping || stop_agreed_ || due(config_.run.checkpoint_every)) {
      save();
    }
    last_report_ = Clock::now();
  }

  /// A stop saves without validating; what was due then is done when the run goes on.
  void make_up_validation() {
    const bool missing = metrics_ && !metrics_->last_step_validated();
    if (data_.validation && submitted_ > 0 && due(config_.run.val_every) &&
        comm_.maximum(missing ? 1 : 0) == 1) {
      validate();
      last_report_ = Clock::now();
    }
  }

  void validate() {
    ValidationBatches batches(data_.validation, config_.data.seq_len, config_.data.global_batch, comm_.rank(),
                              comm_.size(), config_.run.val_windows);
    for (std::int64_t batch = 0; batch < batches.batches(); ++batch) {
      trainer_.submit_evaluation(batches.batch(batch), config_.data.global_batch);
    }
    const double loss = trainer_.collect_evaluation();
    if (comm_.rank() == 0) {
      metrics_->validation(state_.step, loss);
    }
    say(fmt::format("step {} validation loss {:.4f} perplexity {:.2f}", state_.step, loss, std::exp(loss)));
  }

  void save() {
    if (saved_step_ == state_.step) {
      return;
    }
    const Clock::time_point begin = Clock::now();
    std::vector<UnitPiece> pieces;
    for (const ShardPiece& shard : trainer_.shards()) {
      pieces.push_back({shard.unit, shard.begin, shard.param, shard.adam_m, shard.adam_v});
    }
    const std::filesystem::path path = checkpoint_path(directory_.path(), state_.step);
    save_checkpoint(comm_, path, table_, state_.to_json(), pieces);
    saved_step_ = state_.step;
    run_phase(comm_, [&] {
      if (comm_.rank() == 0) {
        apply_retention(directory_.path(), config_.run.keep);
      }
    });
    say(fmt::format("saved {} in {:.2f} s", path.string(), seconds_since(begin)));
  }

  const TrainConfig& config_;
  const MpiComm& comm_;
  const TensorTable& table_;
  RunData data_;
  RunDirectory& directory_;
  LearningRateSchedule schedule_;
  std::unique_ptr<Device> device_;
  std::int64_t micro_batch_;
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Collectives> collectives_;
  Trainer trainer_;
  BatchPrefetcher batches_;
  RunState state_;  // of the last report
  std::optional<MetricsWriter> metrics_;
  std::int64_t submitted_ = 0;
  std::int64_t saved_step_ = -1;
  bool stop_agreed_ = false;
  Clock::time_point start_;
  Clock::time_point last_report_;
};

/// What all ranks can judge from options, model and data, before anything is written.
void require_run_fits(const TrainConfig& config, const ModelConfig& model, std::int64_t total_steps) {
  SHARDGPT_REQUIRE(
      config.data.seq_len <= model.positions,
      fmt::format("--seq-len is {}, the model has {} positions", config.data.seq_len, model.positions));
  schedule_from_options(config.optimizer, total_steps).validate();
}

/// The plan for `ranks` ranks that compute as this one does. Collective.
TrainingPlan plan_run(const TrainConfig& config, const MpiComm& comm, const TensorTable& table, int ranks,
                      std::optional<std::int64_t> windows_per_epoch) {
  const OpsLimits limits = ops_limits(config, table.config(), choose_micro_batch(config.data, ranks));
  const std::size_t workspace =
      ops_workspace_bytes(config.device, choose_threads(comm, config.device), limits);
  return make_plan(config, table, ranks, dtype_from_options(config.device), workspace, windows_per_epoch);
}

ExitCode dry_run(const TrainConfig& config, const MpiComm& comm) {
  const ModelOrigin origin = find_model(comm, config);
  const TensorTable table(origin.model);
  std::optional<std::int64_t> windows;
  std::int64_t steps = std::max<std::int64_t>(1, config.data.steps);
  if (!config.data.data.empty()) {
    const RunData data = open_run_data(comm, config, origin.model);
    windows = data.sampler->windows_per_epoch();
    steps = data.total_steps;
  }
  require_run_fits(config, origin.model, steps);
  const int ranks = config.run.plan_ranks > 0 ? static_cast<int>(config.run.plan_ranks) : comm.size();
  const TrainingPlan plan = plan_run(config, comm, table, ranks, windows);
  if (comm.rank() == 0) {
    std::cout << describe_plan(plan, config, table) << std::flush;
  }
  return exit_done;
}

void prepare_directory(const MpiComm& comm, const TrainConfig& config, const RunDirectory& directory) {
  run_phase(comm, [&] {
    if (comm.rank() != 0) {
      return;
    }
    if (config.run.resume == "never" && directory.holds_run()) {
      SHARDGPT_REQUIRE(config.run.discard_run,
                       "--resume never, and " + directory.path().string() +
                           " holds an earlier run: add --discard-run to delete it, or use another --run-dir");
      directory.discard();
    }
    remove_stale_temporaries(directory.path());
    const nlohmann::json manifest = {{"version", version_text()},
                                     {"mpi", MpiSession::library_version()},
                                     {"ranks", comm.size()},
                                     {"options", options_to_json(config)}};
    directory.write_manifest(manifest.dump(1) + "\n");
  });
}

}  // namespace

ExitCode run_training(const TrainConfig& config, const MpiSession& session) {
  const MpiComm& comm = session.world();
  require_same_options(comm, config);
  require_device(comm, config.device);
  if (config.run.dry_run) {
    return dry_run(config, comm);
  }
  // Read-only checks first: a run that is refused leaves no trace.
  ModelOrigin origin = find_model(comm, config);
  const TensorTable table(origin.model);
  RunData data = open_run_data(comm, config, origin.model);
  require_run_fits(config, origin.model, data.total_steps);
  if (origin.resume) {
    require_same_data(RunState::from_json(origin.resume->state, origin.resume->path.string()).data,
                      data_identity(data, config.data));
  }
  const std::int64_t windows = data.sampler->windows_per_epoch();

  RunDirectory directory(comm, config.run.run_dir);
  prepare_directory(comm, config, directory);
  const TrainingPlan plan = plan_run(config, comm, table, comm.size(), windows);
  if (comm.rank() == 0) {
    log_info(version_text());
    log_info(describe_plan(plan, config, table));
  }
  const auto note_failure = [&](const std::exception& error) {
    try {
      directory.write_status(std::string("failed(") + error.what() + ")");
    } catch (const std::exception& also) {
      log_warning(also.what());  // the first error is the one to report
    }
  };
  try {
    TrainingLoop loop(config, session, table, std::move(data), directory);
    const bool chosen = config.run.resume != "auto";
    if (!origin.resume || !loop.resume(chosen ? std::optional(origin.resume->path) : std::nullopt)) {
      loop.start_fresh(origin);
    }
    try {
      return loop.run();
    } catch (const AgreedError&) {
      throw;
    } catch (const std::exception& error) {
      // Perhaps this rank alone has failed, while its streams and its peers wait for one another: unwinding
      // would join threads that never end, so the job ends here.
      log_error(error.what());
      note_failure(error);
      MpiSession::abort(exit_error);
    }
  } catch (const std::exception& error) {
    if (comm.rank() == 0) {
      note_failure(error);
    }
    throw;
  }
}

}  // namespace shardgpt
