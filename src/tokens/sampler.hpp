#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace shardgpt {

enum class SampleOrder { sequential, shuffled };

/// Rows [begin, end) of a batch.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

/// The rows of a batch of `rows` that belong to `rank`: ⌊rank·rows/ranks⌋ … ⌊(rank+1)·rows/ranks⌋ − 1.
[[nodiscard]] RowRange rank_rows(std::int64_t rows, int rank, int ranks);

struct SamplerConfig {
  std::int64_t tokens = 0;        ///< of the stream
  std::int64_t seq_len = 0;       ///< T
  std::int64_t global_batch = 0;  ///< B, sequences per optimizer step over all ranks
  SampleOrder order = SampleOrder::shuffled;
  std::uint64_t seed = 0;
  /// Samples in the whole run; a batch that reaches it is short, later ones are empty.
  std::int64_t sample_limit = std::numeric_limits<std::int64_t>::max();
};

/// Which windows an optimizer step trains on: a pure function of the step, the same on all ranks. Sample
/// p = step·B + j is in epoch ⌊p / W⌋ at position p mod W, W windows an epoch.
class Sampler {
 public:
  /// Throws InputError where a value is out of range or the stream has fewer windows than one batch (W < B).
  explicit Sampler(const SamplerConfig& config);

  [[nodiscard]] const SamplerConfig& config() const { return config_; }
  [[nodiscard]] std::int64_t windows_per_epoch() const { return windows_; }
  /// E·W samples: the limit for a run of `epochs`.
  [[nodiscard]] std::int64_t samples_in_epochs(std::int64_t epochs) const;
  /// ⌈samples / B⌉.
  [[nodiscard]] std::int64_t steps_for(std::int64_t samples) const;

  [[nodiscard]] std::int64_t epoch_of(std::int64_t sample) const { return sample / windows_; }
  /// The window that sample `sample` reads.
  [[nodiscard]] std::int64_t window_of(std::int64_t sample) const;
  /// Rows of batch `step` over all ranks: B, fewer at the sample limit.
  [[nodiscard]] std::int64_t rows_in(std::int64_t step) const;
  /// The windows of this rank's rows of batch `step`, in order.
  [[nodiscard]] std::vector<std::int64_t> windows(std::int64_t step, int rank, int ranks) const;

 private:
  SamplerConfig config_;
  std::int64_t windows_;
};

}  // namespace shardgpt
