#include "core/background_thread.hpp"

#include <algorithm>
#include <utility>

#include <sys/resource.h>

namespace shardgpt {

void run_local(const LocalRunner& runner, const std::function<void()>& work) {
  if (runner) {
    runner(work);
  } else {
    work();
  }
}

BackgroundThread::BackgroundThread(int nice_steps)
    : thread_([this, nice = std::min(19, ::getpriority(PRIO_PROCESS, 0) + nice_steps)] {
        (void)::setpriority(PRIO_PROCESS, 0, nice);  // 0: on Linux this thread; raising it is always allowed
        serve();
      }) {}

BackgroundThread::~BackgroundThread() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BackgroundThread::run(const std::function<void()>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  changed_.notify_all();
  changed_.wait(lock, [this] { return work_ == nullptr; });
  if (const std::exception_ptr failure = std::exchange(failure_, nullptr); failure != nullptr) {
    std::rethrow_exception(failure);
  }
}

void BackgroundThread::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return work_ != nullptr || closing_; });
    if (work_ == nullptr) {
      return;
    }
    lock.unlock();
    std::exception_ptr failure;
    try {
      (*work_)();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    work_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace shardgpt
