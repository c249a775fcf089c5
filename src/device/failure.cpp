#include "device/failure.hpp"

#include <utility>

namespace shardgpt {

void Failure::set(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (first_ == nullptr) {
    first_ = std::move(failure);
  }
  happened_.store(true, std::memory_order_relaxed);
}

void Failure::rethrow() const {
  std::exception_ptr failure;
  {
    const std::lock_guard lock(mutex_);
    failure = first_;
  }
  if (failure != nullptr) {
    std::rethrow_exception(failure);
  }
}

}  // namespace shardgpt
