#include "device/host/progress.hpp"

#include <utility>

namespace shardgpt {

void Progress::complete(std::uint64_t& completed, std::uint64_t ticket) {
  {
    const std::lock_guard lock(mutex_);
    completed = ticket;
  }
  changed_.notify_all();
}

bool Progress::wait(const std::uint64_t& completed, std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return completed >= ticket || failure_ != nullptr; });
  return completed >= ticket;
}

void Progress::fail(std::exception_ptr failure) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_ == nullptr) {
      failure_ = std::move(failure);
    }
  }
  changed_.notify_all();
}

bool Progress::failed() const {
  const std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

void Progress::rethrow_failure() const {
  std::exception_ptr failure;
  {
    const std::lock_guard lock(mutex_);
    failure = failure_;
  }
  if (failure != nullptr) {
    std::rethrow_exception(failure);
  }
}

}  // namespace shardgpt
