#include "train/training_loop.hpp"

#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "checkpoint/resume.hpp"
#include "core/log.hpp"
#include "hf/hf_model.hpp"
#include "tokens/window_batches.hpp"
#include "train/plan.hpp"
#include "train/provenance.hpp"
#include "train/train_options.hpp"
#include "train/version.hpp"

namespace shardgpt {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TrainingLoop::TrainingLoop(const TrainConfig& config, const MpiSession& session, CheckpointWorker& worker,
                           const DeviceChoice& device, const TensorTable& table, RunData data,
                           RunDirectory& directory, SaveMode save_mode)
    : config_(config),
      comm_(session.world()),
      worker_(worker),
      table_(table),
      data_(std::move(data)),
      directory_(directory),
      schedule_(schedule_from_options(config.optimizer, data_.total_steps)),
      device_(make_device(device, choose_threads(comm_, config.device))),
      micro_batch_(choose_micro_batch(config.data, comm_.size())),
      ops_(make_ops(*device_, config.device, ops_limits(config, table.config(), micro_batch_))),
      collectives_(make_collectives(comm_, *device_, std::chrono::seconds(config.device.peer_timeout))),
      trainer_(*device_, *ops_, *collectives_, table,
               {.seq_len = config.data.seq_len,
                .global_batch = config.data.global_batch,
                .micro_batch = micro_batch_,
                .unshard_slots = static_cast<int>(config.device.unshard_slots),
                .recompute = recompute_from_options(config.device),
                .clip = config.optimizer.clip,
                .adamw = config.optimizer.adamw,
                .decay_all = config.optimizer.decay_all,
                .staging = save_mode == SaveMode::beside_training}),
      saver_(config, save_mode, comm_, table, trainer_, worker, directory.path()),
      batches_(std::make_unique<SampledBatches>(data_.train, *data_.sampler, comm_.rank(), comm_.size())),
      stop_requests_(config.run, directory.stop_file(), comm_.rank() == 0) {
  state_.data = data_identity(data_, config.data);
  state_.windows_per_epoch = data_.sampler->windows_per_epoch();
  state_.schedule = schedule_;
  state_.options = options_to_json(config);
  state_.version = version_text();
  state_.provenance = provenance(config, comm_);
}

void TrainingLoop::start_fresh(const ModelOrigin& origin) {
  if (origin.init) {
    const auto pieces = mutable_pieces(/*parameters_only=*/true);
    worker_.run([&](const MpiComm& comm) {
      load_checkpoint(comm, *origin.init, table_, pieces, load_options(LoadContent::parameters));
    });
    trainer_.store_shards();
    say("weights from " + origin.init->path.string());
  } else if (!origin.hf_folder.empty()) {
    const std::vector<ShardPiece> shards = trainer_.shards();
    run_phase(comm_, [&] {
      const HfModel model(origin.hf_folder);
      for (const ShardPiece& shard : shards) {
        model.read_unit_piece(shard.unit, shard.begin, shard.param);
      }
    });
    trainer_.store_shards();
    say("weights from " + origin.hf_folder.string());
  } else {
    trainer_.initialize(static_cast<std::uint64_t>(config_.data.seed));
  }
}

bool TrainingLoop::resume(const std::optional<std::filesystem::path>& chosen) {
  const Clock::time_point begin = Clock::now();
  const auto pieces = mutable_pieces(/*parameters_only=*/false);
  const LoadOptions options = load_options(LoadContent::everything);
  const auto info = worker_.run([&](const MpiComm& comm) -> std::optional<CheckpointInfo> {
    if (!chosen) {
      return load_newest(comm, directory_.path(), table_, pieces, options);
    }
    CheckpointInfo found = read_checkpoint_info(comm, *chosen);
    load_checkpoint(comm, found, table_, pieces, options);
    return found;
  });
  if (!info) {
    return false;
  }
  trainer_.store_shards();
  const RunState saved = RunState::from_json(info->state, info->path.string());
  require_same_data(saved.data, state_.data);
  for (const std::string& line : changed_options(saved.options, state_.options)) {
    say("changed since the checkpoint: " + line);
  }
  state_.step = saved.step;
  state_.tokens = saved.tokens;
  state_.counters = saved.counters;
  state_.skipped_in_a_row = saved.skipped_in_a_row;
  trainer_.set_counters(saved.counters);
  if (!chosen) {
    saver_.resumed(saved.step, seconds_since(begin));
  }
  say(fmt::format("resumed from {} at step {} of {}", info->path.string(), saved.step, data_.total_steps));
  return true;
}

ExitCode TrainingLoop::run() {
  if (state_.step >= data_.total_steps && saver_.saved_step() == state_.step) {
    say(fmt::format("the run is finished: {} of {} steps are done", state_.step, data_.total_steps));
    set_status("finished");
    return exit_done;
  }
  set_status("running");
  if (comm_.rank() == 0) {
    metrics_.emplace(directory_.metrics_file(), state_.step);
  }
  const std::int64_t first_step = state_.step;
  submitted_ = first_step;
  make_up_validation();
  last_report_ = Clock::now();
  saver_.start_clock();
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
    if (!stopping && submitted_ < data_.total_steps) {
      between_steps();
    }
  }
  drain();
  at_end(submitted_ < data_.total_steps);
  stop_requests_.remove_file();
  if (submitted_ < data_.total_steps) {
    set_status("preempted");
    say(fmt::format("stopped at step {} of {} after saving: run the same command again to go on", submitted_,
                    data_.total_steps));
    return exit_run_again;
  }
  set_status("finished");
  say(fmt::format("finished: {} steps, {} tokens, {} skipped", state_.step, state_.tokens,
                  state_.counters.skipped));
  return exit_done;
}

void TrainingLoop::say(const std::string& text) const {
  if (comm_.rank() == 0) {
    log_info(text);
  }
}

void TrainingLoop::set_status(const std::string& status) const {
  run_phase(comm_, [&] {
    if (comm_.rank() == 0) {
      directory_.write_status(status);
    }
  });
}

std::vector<MutableUnitPiece> TrainingLoop::mutable_pieces(bool parameters_only) {
  std::vector<MutableUnitPiece> pieces;
  for (const ShardPiece& shard : trainer_.shards()) {
    pieces.push_back({shard.unit, shard.begin, shard.param,
                      parameters_only ? std::span<float>() : shard.adam_m,
                      parameters_only ? std::span<float>() : shard.adam_v});
  }
  return pieces;
}

LoadOptions TrainingLoop::load_options(LoadContent content) {
  LoadOptions options;
  options.content = content;
  options.on_progress = [this] { worker_.note_progress(); };
  return options;
}

bool TrainingLoop::due(std::int64_t interval) const {
  return interval > 0 && submitted_ % interval == 0;
}

void TrainingLoop::submit_next() {
  StepSignals signals;
  signals.stop = stop_requests_.any(saver_.seconds_to_stop()) ? 1 : 0;
  saver_.add_signals(signals);
  trainer_.submit_step(submitted_, batches_.batch(submitted_), schedule_.at(submitted_), signals);
  ++submitted_;
}

void TrainingLoop::drain() {
  while (trainer_.pending() > 0) {
    take_report();
  }
}

void TrainingLoop::take_report() {
  const StepReport report = trainer_.collect();
  const StepScalars& scalars = report.scalars;
  const double seconds = seconds_since(last_report_);
  last_report_ = Clock::now();
  state_.step = report.step + 1;
  state_.tokens += data_.sampler->rows_in(report.step) * config_.data.seq_len;
  state_.counters = {scalars.adam_step, scalars.skipped_total};
  if (scalars.applied != 0) {
    state_.skipped_in_a_row = 0;
  } else if (scalars.targets != 0) {
    ++state_.skipped_in_a_row;
  }
  stop_agreed_ = stop_agreed_ || scalars.signals.stop > 0;
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
  saver_.on_step(report, seconds, state_);
}

void TrainingLoop::log_progress(const StepReport& report, double seconds, double tokens_per_s) const {
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

void TrainingLoop::on_skipped(const StepReport& report) const {
  const StepScalars& scalars = report.scalars;
  const std::string what = scalars.targets == 0 ? "has no target"
                                                : fmt::format("is not finite (loss {}, gradient norm {})",
                                                              scalars.loss, scalars.grad_norm);
  if (scalars.targets != 0 && config_.optimizer.on_nonfinite == "abort") {
    throw AgreedError(
        fmt::format("step {} {}; weights are those of the step before. Stopping, as --on-nonfinite says",
                    report.step + 1, what));
  }
  if (comm_.rank() == 0) {
    log_warning(fmt::format("step {} {}: skipped, {} so far", report.step + 1, what, scalars.skipped_total));
  }
  if (config_.optimizer.max_skipped > 0 && state_.skipped_in_a_row > config_.optimizer.max_skipped) {
    throw AgreedError(fmt::format(
        "step {} {}, as were the {} before it: more than --max-skipped allows. Weights are those of step {}; "
        "a lower learning rate or other data may help",
        report.step + 1, what, state_.skipped_in_a_row - 1, state_.step - state_.skipped_in_a_row));
  }
}

void TrainingLoop::between_steps() {
  if (saver_.due(submitted_)) {
    if (saver_.mode() == SaveMode::beside_training) {
      saver_.begin(submitted_);
    } else {
      drain();
      saver_.save_now(state_);
      last_report_ = Clock::now();
    }
  }
  if (data_.validation && due(config_.run.val_every)) {
    drain();
    validate();
    last_report_ = Clock::now();
  }
}

void TrainingLoop::at_end(bool stopping) {
  if (!stopping) {
    if (state_.counters.adam_step == 0 && state_.counters.skipped > 0) {
      throw AgreedError(
          fmt::format("all {} steps of the run were skipped: nothing was trained", state_.step));
    }
    if (data_.validation) {
      validate();
    }
  }
  saver_.save_now(state_);
}

void TrainingLoop::make_up_validation() {
  const bool missing = metrics_ && !metrics_->last_step_validated();
  if (data_.validation && submitted_ > 0 && due(config_.run.val_every) &&
      comm_.maximum(missing ? 1 : 0) == 1) {
    validate();
    last_report_ = Clock::now();
  }
}

void TrainingLoop::validate() {
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

}  // namespace shardgpt
