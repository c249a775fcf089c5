#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace shardgpt {

/// Runs a piece of local work and returns when it is done; what the work throws is thrown. Empty where such
/// a function is optional: the caller runs the work itself.
using LocalRunner = std::function<void(const std::function<void()>& work)>;

/// Runs `work` through `runner`, or here where there is none.
void run_local(const LocalRunner& runner, const std::function<void()>& work);

/// A thread that stands behind the program's other threads at the processors. Work for it must hold no lock
/// that others want: it may be kept off the cores for long.
class BackgroundThread {
 public:
  /// The thread runs at the caller's nice value + `nice_steps`, at most 19.
  explicit BackgroundThread(int nice_steps);
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;
  ~BackgroundThread();

  /// Runs `work` there while the calling thread sleeps; throws what it throws. One caller at a time.
  void run(const std::function<void()>& work);

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;
  bool closing_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace shardgpt
