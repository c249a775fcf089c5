#include "train/training_loop.hpp"

#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "checkpoint/reader.hpp"
#include "checkpoint/resume.hpp"
#include "checkpoint/run_folder.hpp"
#include "checkpoint/writer.hpp"
#include "core/log.hpp"
#include "device/host/host_device.hpp"
#include "dist/mpi/mpi_collectives.hpp"
#include "hf/hf_model.hpp"
#include "tokens/window_batches.hpp"
#include "train/checkpoint_options.hpp"
#include "train/plan.hpp"
#include "train/stop_signal.hpp"
#include "train/train_options.hpp"
#include "train/version.hpp"

namespace shardgpt {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TrainingLoop::TrainingLoop(const TrainConfig& config, const MpiSession& session, const TensorTable& table,
                           RunData data, RunDirectory& directory)
    : config_(config),
      comm_(session.world()),
      table_(table),
      data_(std::move(data)),
      directory_(directory),
      schedule_(schedule_from_options(config.optimizer, data_.total_steps)),
      device_(make_host_device({.compute_threads = choose_threads(comm_, config.device), .hooks = nullptr})),
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

void TrainingLoop::start_fresh(const ModelOrigin& origin) {
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

bool TrainingLoop::resume(const std::optional<std::filesystem::path>& chosen) {
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

ExitCode TrainingLoop::run() {
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

bool TrainingLoop::due(std::int64_t interval) const {
  return interval > 0 && submitted_ % interval == 0;
}

void TrainingLoop::submit_next() {
  const bool time_is_up =
      config_.run.max_seconds > 0 && seconds_since(start_) >= static_cast<double>(config_.run.max_seconds);
  trainer_.submit_step(submitted_, batches_.batch(submitted_), schedule_.at(submitted_),
                       stop_signal_received() || time_is_up);
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
    throw Error(
        fmt::format("step {} {}; weights are those of the step before. Stopping, as --on-nonfinite says",
                    report.step + 1, what));
  }
  if (comm_.rank() == 0) {
    log_warning(fmt::format("step {} {}: skipped, {} so far", report.step + 1, what, scalars.skipped_total));
  }
}

void TrainingLoop::at_border(bool stopping) {
  const bool last = submitted_ == data_.total_steps;
  if (data_.validation && (last || due(config_.run.val_every)) && !stopping) {
    validate();
  }
  if (last || stopping || stop_agreed_ || due(config_.run.checkpoint_every)) {
    save();
  }
  last_report_ = Clock::now();
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

void TrainingLoop::save() {
  if (saved_step_ == state_.step) {
    return;
  }
  const Clock::time_point begin = Clock::now();
  std::vector<UnitPiece> pieces;
  for (const ShardPiece& shard : trainer_.shards()) {
    pieces.push_back({shard.unit, shard.begin, shard.param, shard.adam_m, shard.adam_v});
  }
  const std::filesystem::path path = checkpoint_path(directory_.path(), state_.step);
  save_checkpoint(comm_, path, table_, state_.to_json(), pieces, save_options(config_.checkpoint));
  saved_step_ = state_.step;
  run_phase(comm_, [&] {
    if (comm_.rank() == 0) {
      apply_retention(directory_.path(), config_.run.keep);
    }
  });
  say(fmt::format("saved {} in {:.2f} s", path.string(), seconds_since(begin)));
}

}  // namespace shardgpt
