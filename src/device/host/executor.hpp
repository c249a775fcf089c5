#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "device/failure.hpp"

namespace shardgpt {

/// One thread that runs tasks in the order of their submission. After a failure of the device it drops them.
class Executor {
 public:
  Executor(Failure& failure, std::function<void()> on_start);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  /// Runs what was submitted, then joins.
  ~Executor();

  void submit(std::function<void()> task);

 private:
  void run(const std::function<void()>& on_start);

  Failure& failure_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool closing_ = false;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace shardgpt
