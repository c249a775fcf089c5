#pragma once

#include <atomic>
#include <exception>
#include <mutex>

namespace shardgpt {

/// The first failure of a device's threads. Asking whether there is one orders no memory between threads, so
/// that ThreadSanitizer sees only the order that events make.
class Failure {
 public:
  void set(std::exception_ptr failure);
  [[nodiscard]] bool happened() const { return happened_.load(std::memory_order_relaxed); }
  /// Throws the failure, if there is one.
  void rethrow() const;

 private:
  std::atomic<bool> happened_ = false;
  mutable std::mutex mutex_;
  std::exception_ptr first_;
};

}  // namespace shardgpt
