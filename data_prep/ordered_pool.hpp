#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace shardgpt {

/// Worker threads, each with a state of its own, that turn items into results; the results come out in the
/// order of the items whatever thread was faster. One thread feeds it; where only one is asked for, it does
/// the work as well.
template <class State, class Item, class Result>
class OrderedPool {
 public:
  using Work = std::function<Result(State&, Item)>;
  using Consume = std::function<void(Result)>;

  /// Starts `threads` (≥ 1) workers, none for 1; `make_state` runs in the feeding thread. `consume` gets the
  /// results there.
  OrderedPool(std::size_t threads, const std::function<std::unique_ptr<State>()>& make_state, Work work,
              Consume consume)
      : work_(std::move(work)), consume_(std::move(consume)), limit_(2 * threads + 1) {
    for (std::size_t i = 0; i < threads; ++i) {
      states_.push_back(make_state());
    }
    if (threads == 1) {
      return;
    }
    try {
      for (const auto& state : states_) {
        threads_.emplace_back([this, &state = *state] { run(state); });
      }
    } catch (...) {
      stop();
      throw;
    }
  }
  OrderedPool(const OrderedPool&) = delete;
  OrderedPool& operator=(const OrderedPool&) = delete;
  ~OrderedPool() { stop(); }

  /// Takes one more item; waits for the oldest while too many are under way. Throws what work on it threw.
  void push(Item item) {
    if (threads_.empty()) {
      consume_(work_(*states_.front(), std::move(item)));
      return;
    }
    while (results_.size() >= limit_) {
      consume_oldest();
    }
    Task task([this, item = std::move(item)](State& state) mutable { return work_(state, std::move(item)); });
    results_.push_back(task.get_future());
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

  /// Waits for everything pushed so far.
  void finish() {
    while (!results_.empty()) {
      consume_oldest();
    }
  }

  /// The workers' states; only after `finish`.
  [[nodiscard]] const std::vector<std::unique_ptr<State>>& states() const { return states_; }

 private:
  using Task = std::packaged_task<Result(State&)>;

  void consume_oldest() {
    std::future<Result> oldest = std::move(results_.front());
    results_.pop_front();
    consume_(oldest.get());
  }

  void run(State& state) {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
      if (stop_) {
        return;
      }
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task(state);
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  Work work_;
  Consume consume_;
  std::size_t limit_;
  std::deque<std::future<Result>> results_;
  std::vector<std::unique_ptr<State>> states_;
  std::mutex mutex_;  ///< guards tasks_ and stop_
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

/// `requested`, or the machine's number of hardware threads for 0.
[[nodiscard]] inline std::size_t worker_threads(std::int64_t requested) {
  return requested > 0 ? static_cast<std::size_t>(requested)
                       : std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace shardgpt
