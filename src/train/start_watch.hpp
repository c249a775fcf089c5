#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace shardgpt {

/// Ends the process where MPI does not come up: MPI_Init waits for all ranks, without end where one of them
/// died on its way. Made before MPI_Init, started() behind it. After `time_out` the process ends with
/// exit_error; where a stop signal has come and MPI is still not up after a grace time of 15 s, with
/// exit_run_again: nothing has begun, so there is nothing to save. Either with one line on stderr.
class StartWatch {
 public:
  explicit StartWatch(std::chrono::seconds time_out);
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;
  ~StartWatch() { started(); }

  void started();

 private:
  void watch(std::chrono::seconds time_out);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace shardgpt
