#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "tokens/batch.hpp"

namespace shardgpt {

/// Reads the next batches of another source on a thread of its own, so that page faults and copies stay off
/// the training thread. A step other than the next one starts the reading again from there.
class BatchPrefetcher final : public BatchSource {
 public:
  /// Keeps up to `depth` (≥ 1) batches ready. Reading starts with the first request.
  explicit BatchPrefetcher(std::unique_ptr<BatchSource> source, std::size_t depth = 2);
  BatchPrefetcher(const BatchPrefetcher&) = delete;
  BatchPrefetcher& operator=(const BatchPrefetcher&) = delete;
  ~BatchPrefetcher() override;

  /// Waits until the batch is ready. What the source threw for this step is thrown here; asking again reads
  /// again.
  [[nodiscard]] Batch batch(std::int64_t step) override;

 private:
  struct Ready {
    std::int64_t step = 0;
    Batch batch;
    std::exception_ptr error;
  };
  void read_ahead();
  [[nodiscard]] Ready read(std::int64_t step) noexcept;

  std::unique_ptr<BatchSource> source_;  ///< used by the thread only
  std::size_t depth_;
  std::mutex mutex_;  ///< guards everything below
  std::condition_variable changed_;
  std::deque<Ready> ready_;
  std::int64_t next_step_ = -1;  ///< the thread's next step; −1: nothing to do
  std::int64_t generation_ = 0;  ///< raised when the reading starts again; older results are dropped
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace shardgpt
