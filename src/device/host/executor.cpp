#include "device/host/executor.hpp"

#include <utility>

namespace shardgpt {

Executor::Executor(Failure& failure, std::function<void()> on_start)
    : failure_(failure), thread_([this, start = std::move(on_start)] { run(start); }) {}

Executor::~Executor() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Executor::submit(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void Executor::run(const std::function<void()>& on_start) {
  on_start();
  std::deque<std::function<void()>> taken;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !queue_.empty() || closing_; });
      if (queue_.empty()) {
        return;
      }
      taken.swap(queue_);
    }
    for (; !taken.empty(); taken.pop_front()) {
      try {
        if (!failure_.happened()) {
          taken.front()();
        }
      } catch (...) {
        failure_.set(std::current_exception());
      }
    }
  }
}

}  // namespace shardgpt
