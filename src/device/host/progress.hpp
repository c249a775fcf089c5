#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>

namespace shardgpt {

/// What the threads of a host device share: the lock under which events complete, and the first failure.
class Progress {
 public:
  /// Marks `completed` as having reached `ticket` and wakes all waiters.
  void complete(std::uint64_t& completed, std::uint64_t ticket);
  /// Blocks until `completed` reaches `ticket` or the device has failed. False: it failed.
  [[nodiscard]] bool wait(const std::uint64_t& completed, std::uint64_t ticket);
  void fail(std::exception_ptr failure);
  [[nodiscard]] bool failed() const;
  void rethrow_failure() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr failure_;
};

}  // namespace shardgpt
