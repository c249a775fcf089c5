#include "train/checkpoint_saver.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "checkpoint/run_folder.hpp"
#include "checkpoint/writer.hpp"
#include "core/log.hpp"
#include "train/checkpoint_options.hpp"
#include "train/save_interval.hpp"

namespace shardgpt {
namespace {

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

CheckpointSaver::CheckpointSaver(const TrainConfig& config, SaveMode mode, const MpiComm& comm,
                                 const TensorTable& table, Trainer& trainer, CheckpointWorker& worker,
                                 std::filesystem::path run_dir)
    : options_(config.run),
      save_options_(save_options(config.checkpoint, mode)),
      mode_(mode),
      comm_(comm),
      table_(table),
      trainer_(trainer),
      worker_(worker),
      run_dir_(std::move(run_dir)) {}

CheckpointSaver::~CheckpointSaver() {
  worker_.settle();
}

void CheckpointSaver::resumed(std::int64_t step, double seconds) {
  saved_step_ = step;
  longest_save_ = seconds;  // the same bytes: the best guess until one was saved
}

void CheckpointSaver::start_clock() {
  last_save_ = Clock::now();
}

void CheckpointSaver::add_signals(StepSignals& signals) const {
  const bool time_has_come = options_.checkpoint_minutes > 0 && comm_.rank() == 0 &&
                             seconds_between(last_save_, Clock::now()) >= 60 * options_.checkpoint_minutes;
  signals.save = time_has_come ? 1 : 0;
  signals.save_ended = in_flight_ && worker_.ended() ? 1 : 0;
}

void CheckpointSaver::on_step(const StepReport& report, double seconds, const RunState& state) {
  const bool beside = in_flight_ && report.step >= in_flight_->step;
  meter_.step_took(std::max(0.0, seconds - std::exchange(waited_, 0)), beside);
  worker_.check();
  if (in_flight_ && state.step == in_flight_->step) {
    hand_over(state);
  }
  if (report.step < last_border_) {
    return;
  }
  requested_ = requested_ || report.scalars.signals.save > 0;
  if (in_flight_ && report.scalars.signals.save_ended == comm_.size()) {
    collect();
  }
}

bool CheckpointSaver::due(std::int64_t step) const {
  return requested_ || (options_.checkpoint_every > 0 && step % options_.checkpoint_every == 0);
}

void CheckpointSaver::begin(std::int64_t step) {
  if (in_flight_ && !worker_.ended() && comm_.rank() == 0 && !std::exchange(said_waiting_, true)) {
    log_warning(
        fmt::format("the checkpoint of step {} is still being written when the next save is due: training "
                    "waits for it (said once; save less often to avoid it)",
                    in_flight_->step));
  }
  wait_for_save_in_flight();
  trainer_.stage_shards();
  in_flight_ = InFlight{step, Clock::now()};
  last_border_ = step;
  last_save_ = in_flight_->begin;
  requested_ = false;
  meter_.begin_save();
}

void CheckpointSaver::hand_over(const RunState& state) {
  in_flight_->handed_over = true;
  worker_.start([this, json = state.to_json(), step = state.step](const MpiComm& comm) {
    trainer_.staging().wait();
    timing_.copy_seconds = trainer_.staging().copy_seconds();
    write(comm, json, step, trainer_.staging().pieces(),
          [this](const std::function<void()>& work) { worker_.run_behind_compute(work); });
  });
}

void CheckpointSaver::wait_for_save_in_flight() {
  if (!in_flight_) {
    return;
  }
  if (!in_flight_->handed_over) {
    throw std::logic_error("a save is in flight whose state was never completed");
  }
  const Clock::time_point begin = Clock::now();
  finish_job();
  const double waited = seconds_between(begin, Clock::now());
  meter_.stood_still(waited);
  waited_ += waited;
  saved(in_flight_->step, in_flight_->begin);
  in_flight_.reset();
}

void CheckpointSaver::collect() {
  finish_job();
  saved(in_flight_->step, in_flight_->begin);
  in_flight_.reset();
}

void CheckpointSaver::finish_job() {
  try {
    worker_.finish();
  } catch (const InputError& error) {
    throw AgreedError(error.what());  // no input is at fault once the run has begun
  }
}

void CheckpointSaver::save_now(const RunState& state) {
  wait_for_save_in_flight();
  if (saved_step_ == state.step) {
    return;
  }
  const Clock::time_point begin = Clock::now();
  meter_.begin_save();
  const std::vector<ShardPiece> shards = trainer_.shards();
  timing_.copy_seconds.reset();
  worker_.start(
      [this, &state, &shards](const MpiComm& comm) { write(comm, state.to_json(), state.step, shards, {}); });
  finish_job();
  last_border_ = state.step;
  requested_ = false;
  last_save_ = Clock::now();
  meter_.stood_still(seconds_between(begin, last_save_));
  saved(state.step, begin);
}

void CheckpointSaver::write(const MpiComm& comm, const nlohmann::json& state, std::int64_t step,
                            std::span<const ShardPiece> shards, const LocalRunner& local) {
  const Clock::time_point begin = Clock::now();
  std::vector<UnitPiece> pieces;
  for (const ShardPiece& shard : shards) {
    pieces.push_back({shard.unit, shard.begin, shard.param, shard.adam_m, shard.adam_v});
  }
  SaveOptions options = save_options_;
  options.on_progress = [this] { worker_.note_progress(); };
  options.local = local;
  save_checkpoint(comm, checkpoint_path(run_dir_, step), table_, state, pieces, options);
  timing_.durable = Clock::now();
  timing_.write_seconds = seconds_between(begin, timing_.durable);
  run_phase(comm, [&] {
    if (comm.rank() == 0) {
      apply_retention(run_dir_, options_.keep, options_.keep_every);
    }
  });
}

void CheckpointSaver::saved(std::int64_t step, Clock::time_point begin) {
  saved_step_ = step;
  const SaveCost cost{meter_.held_up(), seconds_between(begin, timing_.durable), meter_.usual_step()};
  longest_save_ = std::max(longest_save_, cost.durable_after);
  if (comm_.rank() != 0) {
    return;
  }
  constexpr double bytes_per_parameter = 3 * sizeof(float);  // param, m, v
  const double bytes = bytes_per_parameter * static_cast<double>(table_.parameters());
  const std::string copied =
      timing_.copy_seconds ? fmt::format("copied in {:.2f} s, ", *timing_.copy_seconds) : std::string();
  log_info(fmt::format("saved {}: training held up {:.2f} s, {}durable after {:.2f} s, {:.0f} MB/s",
                       checkpoint_path(run_dir_, step).string(), cost.held_up, copied, cost.durable_after,
                       bytes / timing_.write_seconds / 1e6));
  if (!std::exchange(said_interval_, true)) {
    log_info(suggest_interval(cost, options_.mtbf_hours));
  }
}

double CheckpointSaver::seconds_to_stop() const {
  const double saves = in_flight_ ? 2 * longest_save_ : longest_save_;
  return saves + 2 * meter_.usual_step().value_or(0);
}

}  // namespace shardgpt
