#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint_worker.hpp"
#include "checkpoint/unit_pieces.hpp"
#include "checkpoint/writer.hpp"
#include "dist/mpi/mpi_session.hpp"
#include "model/tensor_table.hpp"
#include "train/checkpoint_options.hpp"
#include "train/hold_up_meter.hpp"
#include "train/run_state.hpp"
#include "train/train_config.hpp"
#include "train/trainer.hpp"

namespace shardgpt {

/// The checkpoints of a run: when one is due, saving beside training or while it waits, retention, and what
/// is said of it. At most one save is in flight. All ranks call the same methods in the same order; failures
/// of a save are thrown on all of them as AgreedError, at the step where all know of it or at the next wait.
///
/// A save beside training takes part in four places: begin at a border issues the copy of the shards; on_step
/// with the report that completes the state hands the copy to the worker; add_signals tells the other ranks
/// when this one's part is written; on_step with the report in which all have said so takes the outcome.
class CheckpointSaver {
 public:
  /// `trainer` must have staging memory where saves go on beside training.
  CheckpointSaver(const TrainConfig& config, SaveMode mode, const MpiComm& comm, const TensorTable& table,
                  Trainer& trainer, CheckpointWorker& worker, std::filesystem::path run_dir);
  CheckpointSaver(const CheckpointSaver&) = delete;
  CheckpointSaver& operator=(const CheckpointSaver&) = delete;
  /// Waits for the save in flight, which reads the trainer's memory.
  ~CheckpointSaver();

  [[nodiscard]] SaveMode mode() const { return mode_; }
  /// The step of the last complete checkpoint; -1: none.
  [[nodiscard]] std::int64_t saved_step() const { return saved_step_; }
  /// The run goes on from its checkpoint of `step`, which took `seconds` to load.
  void resumed(std::int64_t step, double seconds);
  /// The first step begins: the time of --checkpoint-minutes runs from here.
  void start_clock();

  /// What this rank tells the others with the step that is submitted next.
  void add_signals(StepSignals& signals) const;
  /// Books a report, `seconds` after the one before; `state` is the run's behind it.
  void on_step(const StepReport& report, double seconds, const RunState& state);
  /// Whether a checkpoint is wanted at the border behind `step` submitted steps.
  [[nodiscard]] bool due(std::int64_t step) const;
  /// Issues the save of the state behind `step` submitted steps beside training; waits only for a save that
  /// is still in flight.
  void begin(std::int64_t step);
  /// Waits for the save in flight, then saves `state` while training waits, unless that is saved already. No
  /// step may be pending.
  void save_now(const RunState& state);

  /// How long stopping now would take, as far as that is known: the save in flight, another one, the steps
  /// that are pending.
  [[nodiscard]] double seconds_to_stop() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct InFlight {
    std::int64_t step = 0;
    Clock::time_point begin;
    bool handed_over = false;
  };
  /// Written by the worker's job, read behind its end.
  struct Timing {
    std::optional<double> copy_seconds;  ///< of a save beside training
    double write_seconds = 0;
    Clock::time_point durable;
  };

  void hand_over(const RunState& state);
  void wait_for_save_in_flight();
  /// Takes the outcome of the save in flight.
  void collect();
  /// Throws on all ranks alike what the worker's job threw.
  void finish_job();
  void write(const MpiComm& comm, const nlohmann::json& state, std::int64_t step,
             std::span<const ShardPiece> shards, const LocalRunner& local);
  void saved(std::int64_t step, Clock::time_point begin);

  const RunOptions& options_;
  SaveOptions save_options_;
  SaveMode mode_;
  const MpiComm& comm_;
  const TensorTable& table_;
  Trainer& trainer_;
  CheckpointWorker& worker_;
  std::filesystem::path run_dir_;
  std::optional<InFlight> in_flight_;
  Timing timing_;
  HoldUpMeter meter_;
  std::int64_t saved_step_ = -1;
  std::int64_t last_border_ = 0;  // signals of earlier steps speak of an earlier save
  bool requested_ = false;        // by the clock
  bool said_waiting_ = false;
  bool said_interval_ = false;
  double longest_save_ = 0;
  double waited_ = 0;  // seconds since the last report in which the host waited for a save
  Clock::time_point last_save_ = Clock::now();
};

}  // namespace shardgpt
