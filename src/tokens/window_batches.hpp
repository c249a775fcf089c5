#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "tokens/batch.hpp"
#include "tokens/sampler.hpp"
#include "tokens/token_dataset.hpp"

namespace shardgpt {

/// This rank's rows of the training batches, read when asked for. Wrap it in a BatchPrefetcher to read ahead.
class SampledBatches final : public BatchSource {
 public:
  SampledBatches(std::shared_ptr<const TokenDataset> dataset, Sampler sampler, int rank, int ranks);
  [[nodiscard]] Batch batch(std::int64_t step) override;

 private:
  std::shared_ptr<const TokenDataset> dataset_;
  Sampler sampler_;
  int rank_;
  int ranks_;
};

/// This rank's rows of a validation pass: every window once, in order, `batch_rows` a batch over all ranks,
/// the last batch short; a batch after the last has no rows. Every rank has the same number of batches.
class ValidationBatches final : public BatchSource {
 public:
  /// `window_limit`: at most that many windows, from the start; 0 takes all. Throws InputError where the
  /// stream has no whole window.
  ValidationBatches(std::shared_ptr<const TokenDataset> dataset, std::int64_t seq_len,
                    std::int64_t batch_rows, int rank, int ranks, std::int64_t window_limit = 0);
  [[nodiscard]] Batch batch(std::int64_t step) override;
  [[nodiscard]] std::int64_t batches() const;

 private:
  std::shared_ptr<const TokenDataset> dataset_;
  std::int64_t seq_len_;
  std::int64_t batch_rows_;
  std::int64_t windows_;
  int rank_;
  int ranks_;
};

/// Reads the given windows into a batch, one row each.
[[nodiscard]] Batch read_batch(const TokenDataset& dataset, std::int64_t seq_len,
                               std::span<const std::int64_t> windows);

}  // namespace shardgpt
