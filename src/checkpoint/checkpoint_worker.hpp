#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "core/background_thread.hpp"
#include "dist/mpi/mpi_session.hpp"

namespace shardgpt {

/// The one thread of a rank that calls HDF5, which is not thread-safe: all loading and saving of a training
/// program goes through it. It has a communicator of its own, on which it sleeps while it waits for peers, so
/// that it can work beside training where MPI allows several threads at once (MPI_THREAD_MULTIPLE). All ranks
/// hand over the same jobs in the same order; the methods are for one other thread.
class CheckpointWorker {
 public:
  /// Collective work of all ranks' workers over `comm`.
  using Job = std::function<void(const MpiComm& comm)>;

  /// Collective over `parent`. A job that reports no progress for `time_out` counts as stuck.
  CheckpointWorker(const MpiComm& parent, std::chrono::seconds time_out);
  CheckpointWorker(const CheckpointWorker&) = delete;
  CheckpointWorker& operator=(const CheckpointWorker&) = delete;
  /// Settles.
  ~CheckpointWorker();

  /// Hands over a job and returns. Throws std::logic_error while another is in hand.
  void start(Job job);
  /// Whether a job was started whose outcome finish has not taken yet.
  [[nodiscard]] bool in_hand() const { return in_hand_; }
  /// Whether the job in hand has ended.
  [[nodiscard]] bool ended() const;
  /// Throws where the job in hand cannot end on all ranks alike: it is stuck (Error), or it has failed on
  /// this rank alone (its exception). The caller must end the MPI job then.
  void check() const;
  /// Waits for the job in hand and throws what it threw: AgreedError and InputError are those of all ranks.
  /// Where the job is stuck as check.
  void finish();
  /// Runs `work(comm)` as a job, waits for it and returns what it returns.
  template <class Work>
  auto run(Work&& work) {
    using Result = std::invoke_result_t<Work&, const MpiComm&>;
    if constexpr (std::is_void_v<Result>) {
      start([&](const MpiComm& comm) { work(comm); });
      finish();
    } else {
      std::optional<Result> result;
      start([&](const MpiComm& comm) { result.emplace(work(comm)); });
      finish();
      return std::move(*result);
    }
  }
  /// Waits for the job in hand, if there is one, where its outcome can no longer be reported but in the log:
  /// for destructors of what a job uses. Ends the MPI job where it is stuck.
  void settle() noexcept;

  /// For jobs beside training: runs long local work behind compute (nice + 10) while the job's thread sleeps.
  /// The thread itself keeps its priority, since it holds locks inside MPI that training's thread waits for.
  void run_behind_compute(const std::function<void()>& work) { behind_compute_.run(work); }
  /// For jobs: something was done, the time-out starts anew. From any thread.
  void note_progress();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Stage : std::uint8_t { idle, working, ended, closing };

  void work();
  void throw_if_stuck() const;  // the lock is held

  MpiComm comm_;
  std::chrono::seconds time_out_;
  bool in_hand_ = false;  // the other thread's
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Stage stage_ = Stage::idle;
  Job job_;
  std::exception_ptr failure_;
  bool failed_alone_ = false;
  Clock::time_point progress_;
  BackgroundThread behind_compute_;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace shardgpt
