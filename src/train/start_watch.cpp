#include "train/start_watch.hpp"

#include <cstdlib>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/log.hpp"
#include "train/stop_signal.hpp"

namespace shardgpt {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds look(100);
constexpr std::chrono::seconds grace(15);  // shorter than the 30 s that Slurm usually leaves before it kills

}  // namespace

StartWatch::StartWatch(std::chrono::seconds time_out) : thread_([this, time_out] { watch(time_out); }) {}

void StartWatch::started() {
  {
    const std::lock_guard lock(mutex_);
    started_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void StartWatch::watch(std::chrono::seconds time_out) {
  const Clock::time_point begin = Clock::now();
  std::optional<Clock::time_point> signalled;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, look, [this] { return started_; })) {
    const Clock::time_point now = Clock::now();
    if (!signalled && stop_signal_received()) {
      signalled = now;
    }
    if (signalled && now - *signalled > grace) {
      log_error("a signal asked to stop while MPI was still waiting for the other ranks: nothing has begun");
      std::_Exit(exit_run_again);
    }
    if (now - begin > time_out) {
      log_error("MPI has not brought the ranks together for " + std::to_string(time_out.count()) +
                " s (--peer-timeout): one of them has died or was not started");
      std::_Exit(exit_error);
    }
  }
}

}  // namespace shardgpt
