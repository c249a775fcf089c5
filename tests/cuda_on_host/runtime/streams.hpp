#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <cuda_runtime_api.h>

namespace cuda_on_host {

/// The records of one event: numbered when issued, reached in order. Has a lock of its own, so that threads
/// are ordered by the events they share and by nothing else.
class Marks {
 public:
  /// A new record's number, from 1 on.
  [[nodiscard]] std::uint64_t issue();
  /// The last record issued; 0: none.
  [[nodiscard]] std::uint64_t issued() const;
  void reach(std::uint64_t mark);
  [[nodiscard]] bool reached(std::uint64_t mark) const;
  void wait(std::uint64_t mark) const;
  /// When the last record that was reached was.
  [[nodiscard]] std::chrono::steady_clock::time_point last_reached() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t issued_ = 0;
  std::uint64_t reached_ = 0;
  std::chrono::steady_clock::time_point reached_at_;
};

/// One thread that runs tasks in the order in which they came.
class StreamQueue {
 public:
  StreamQueue(int number, int device);
  StreamQueue(const StreamQueue&) = delete;
  StreamQueue& operator=(const StreamQueue&) = delete;
  /// Runs what is left, then joins.
  ~StreamQueue();

  [[nodiscard]] int device() const { return device_; }
  /// `task` may touch device memory, is delayed where the settings say so, and is left out once the device
  /// has failed; what it throws fails the device.
  void push_work(std::function<void()> task);
  /// `edge` waits for an event or reaches one; it runs in any case, so that nobody waits for ever.
  void push_edge(std::function<void()> edge);
  [[nodiscard]] bool idle();
  void wait_until_idle();

 private:
  void run();
  void delay();
  void run_work(const std::function<void()>& task);

  int number_;
  int device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable emptied_;
  std::deque<std::function<void()>> tasks_;
  bool busy_ = false;
  bool closing_ = false;
  std::uint64_t random_ = 0;
  std::thread thread_;  // last: it uses the members above
};

/// As enqueue of queue.hpp, for CUDA calls: returns the error where there is no such stream.
cudaError_t try_enqueue(cudaStream_t stream, std::function<void()> work);

/// Blocks until every stream of the process is idle.
void synchronize_streams();

}  // namespace cuda_on_host
