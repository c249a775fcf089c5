#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_worker.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint/unit_pieces.hpp"
#include "core/error.hpp"
#include "device/device.hpp"
#include "dist/collectives.hpp"
#include "dist/mpi/mpi_session.hpp"
#include "kernels/ops.hpp"
#include "model/tensor_table.hpp"
#include "optim/schedule.hpp"
#include "tokens/batch_prefetcher.hpp"
#include "train/checkpoint_saver.hpp"
#include "train/devices.hpp"
#include "train/metrics.hpp"
#include "train/run_data.hpp"
#include "train/run_directory.hpp"
#include "train/run_state.hpp"
#include "train/startup.hpp"
#include "train/stop_requests.hpp"
#include "train/train_config.hpp"
#include "train/trainer.hpp"

namespace shardgpt {

/// The steps of a run and what they write: metrics, progress, checkpoints, status. Made once everything is
/// checked; all ranks call the same methods in the same order.
class TrainingLoop {
 public:
  TrainingLoop(const TrainConfig& config, const MpiSession& session, CheckpointWorker& worker,
               const DeviceChoice& device, const TensorTable& table, RunData data, RunDirectory& directory,
               SaveMode save_mode);

  /// Weights for step 0: of the checkpoint or Hugging Face folder in `origin`, else the initialisers'. Throws
  /// on all ranks.
  void start_fresh(const ModelOrigin& origin);
  /// Loads the newest sound checkpoint of the run, or `chosen`. False: there was none after all.
  bool resume(const std::optional<std::filesystem::path>& chosen);
  /// Trains to the last step or to a stop; saves at the end of either. exit_done, or exit_run_again after a
  /// stop. Throws AgreedError on all ranks, anything else perhaps on this one alone.
  [[nodiscard]] ExitCode run();
  /// Steps whose reports were read.
  [[nodiscard]] std::int64_t steps_done() const { return state_.step; }

 private:
  using Clock = std::chrono::steady_clock;

  void say(const std::string& text) const;
  void set_status(const std::string& status) const;
  std::vector<MutableUnitPiece> mutable_pieces(bool parameters_only);
  [[nodiscard]] bool due(std::int64_t interval) const;
  [[nodiscard]] LoadOptions load_options(LoadContent content);
  void submit_next();
  void drain();
  /// Books the oldest pending step.
  void take_report();
  void log_progress(const StepReport& report, double seconds, double tokens_per_s) const;
  /// Throws AgreedError where skipping is not allowed or has lasted too long.
  void on_skipped(const StepReport& report) const;
  /// Validation and checkpoint between two steps.
  void between_steps();
  /// Behind the last step of the run or of this start; nothing is pending.
  void at_end(bool stopping);
  /// A stop saves without validating; what was due then is done when the run goes on.
  void make_up_validation();
  void validate();

  const TrainConfig& config_;
  const MpiComm& comm_;
  CheckpointWorker& worker_;
  const TensorTable& table_;
  RunData data_;
  RunDirectory& directory_;
  LearningRateSchedule schedule_;
  std::unique_ptr<Device> device_;
  std::int64_t micro_batch_;
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Collectives> collectives_;
  Trainer trainer_;
  CheckpointSaver saver_;
  BatchPrefetcher batches_;
  RunState state_;  // of the last report
  std::optional<MetricsWriter> metrics_;
  std::int64_t submitted_ = 0;
  StopRequests stop_requests_;
  bool stop_agreed_ = false;
  Clock::time_point last_report_;
};

}  // namespace shardgpt
