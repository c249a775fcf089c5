#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "train/train_config.hpp"

namespace shardgpt {

/// Unix time at which the batch job ends, of the variable SLURM_JOB_END_TIME; nothing where that is not set
/// or no number. Slurm sets it since 23.02.
[[nodiscard]] std::optional<std::int64_t> batch_job_end();

/// What can ask a run to save and stop before its end: TERM or USR1, --max-seconds, the end of the batch job,
/// and a file `stop` in the run folder. Each rank asks for itself; the ranks agree through the step's
/// reduction.
class StopRequests {
 public:
  /// `watches_file`: of one rank, which looks for the file and says why the run stops. The time of
  /// --max-seconds begins here. A file that lies there already was meant for an earlier job and is removed.
  StopRequests(const RunOptions& options, std::filesystem::path file, bool watches_file);

  /// Whether this rank asks to stop. `seconds_needed` is what stopping takes: so much of --max-seconds is
  /// left for it, and half as much again with --end-margin, or a quarter of the job's time if that is
  /// shorter, before the end of the batch job, which Slurm enforces. Looks for the file once a second at
  /// most.
  [[nodiscard]] bool any(double seconds_needed);
  /// Removes the file, so that the next start goes on. To be called when everything is saved.
  void remove_file() const;

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] const char* reason(double seconds_needed);
  bool file_exists();

  const RunOptions& options_;
  std::filesystem::path file_;
  std::optional<std::int64_t> job_end_ = batch_job_end();
  double end_margin_ = 0;  // seconds
  bool watches_file_;
  bool found_file_ = false;
  bool said_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_look_ = begin_;
};

}  // namespace shardgpt
