#include "tokens/batch_prefetcher.hpp"

#include <stdexcept>
#include <utility>

namespace shardgpt {

BatchPrefetcher::BatchPrefetcher(std::unique_ptr<BatchSource> source, std::size_t depth)
    : source_(std::move(source)), depth_(depth) {
  if (source_ == nullptr || depth_ == 0) {
    throw std::invalid_argument("a prefetcher needs a source and a depth of at least 1");
  }
  thread_ = std::thread([this] { read_ahead(); });
}

BatchPrefetcher::~BatchPrefetcher() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Batch BatchPrefetcher::batch(std::int64_t step) {
  if (step < 0) {
    throw std::invalid_argument("negative step");
  }
  std::unique_lock lock(mutex_);
  const std::int64_t coming = ready_.empty() ? next_step_ : ready_.front().step;
  if (coming != step) {
    ready_.clear();
    next_step_ = step;
    ++generation_;
    changed_.notify_all();
  }
  changed_.wait(lock, [this] { return !ready_.empty(); });
  Ready result = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  if (result.error) {
    std::rethrow_exception(result.error);
  }
  return std::move(result.batch);
}

void BatchPrefetcher::read_ahead() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || (next_step_ >= 0 && ready_.size() < depth_); });
    if (stop_) {
      return;
    }
    const std::int64_t step = next_step_;
    const std::int64_t generation = generation_;
    lock.unlock();
    Ready result = read(step);
    lock.lock();
    if (generation == generation_) {
      // After an error nothing is read until the caller asks again.
      next_step_ = result.error ? -1 : step + 1;
      ready_.push_back(std::move(result));
      changed_.notify_all();
    }
  }
}

BatchPrefetcher::Ready BatchPrefetcher::read(std::int64_t step) noexcept {
  Ready result;
  result.step = step;
  try {
    result.batch = source_->batch(step);
  } catch (...) {
    result.error = std::current_exception();
  }
  return result;
}

}  // namespace shardgpt
