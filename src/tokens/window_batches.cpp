#include "tokens/window_batches.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/checked.hpp"
#include "core/error.hpp"

namespace shardgpt {

Batch read_batch(const TokenDataset& dataset, std::int64_t seq_len, std::span<const std::int64_t> windows) {
  Batch batch;
  batch.rows = narrow<std::int64_t>(windows.size());
  batch.seq_len = seq_len;
  const auto length = narrow<std::size_t>(seq_len);
  batch.inputs.resize(windows.size() * length);
  batch.targets.resize(windows.size() * length);
  for (std::size_t row = 0; row < windows.size(); ++row) {
    dataset.read_window(windows[row], seq_len, std::span(batch.inputs).subspan(row * length, length),
                        std::span(batch.targets).subspan(row * length, length));
  }
  return batch;
}

SampledBatches::SampledBatches(std::shared_ptr<const TokenDataset> dataset, Sampler sampler, int rank,
                               int ranks)
    : dataset_(std::move(dataset)), sampler_(std::move(sampler)), rank_(rank), ranks_(ranks) {
  if (sampler_.config().tokens != dataset_->tokens()) {
    throw std::invalid_argument("the sampler was made for another stream");
  }
  dataset_->advise(sampler_.config().order == SampleOrder::sequential ? AccessPattern::sequential
                                                                      : AccessPattern::random);
}

Batch SampledBatches::batch(std::int64_t step) {
  return read_batch(*dataset_, sampler_.config().seq_len, sampler_.windows(step, rank_, ranks_));
}

ValidationBatches::ValidationBatches(std::shared_ptr<const TokenDataset> dataset, std::int64_t seq_len,
                                     std::int64_t batch_rows, int rank, int ranks, std::int64_t window_limit)
    : dataset_(std::move(dataset)),
      seq_len_(seq_len),
      batch_rows_(batch_rows),
      windows_(dataset_->windows(seq_len)),
      rank_(rank),
      ranks_(ranks) {
  SHARDGPT_REQUIRE(batch_rows >= 1, fmt::format("the validation batch is {}, wanted 1 or more", batch_rows));
  SHARDGPT_REQUIRE(
      windows_ >= 1,
      fmt::format("{}: too little validation data: {} tokens are present, one window needs {} (--seq-len "
                  "{} + 1); give more data or lower --seq-len",
                  dataset_->location(), dataset_->tokens(), seq_len + 1, seq_len));
  if (window_limit > 0) {
    windows_ = std::min(windows_, window_limit);
  }
  dataset_->advise(AccessPattern::sequential);
}

std::int64_t ValidationBatches::batches() const {
  return ceil_div(windows_, batch_rows_);
}

Batch ValidationBatches::batch(std::int64_t step) {
  const std::int64_t first = std::min(checked_mul(step, batch_rows_), windows_);
  const RowRange rows = rank_rows(std::min(batch_rows_, windows_ - first), rank_, ranks_);
  std::vector<std::int64_t> windows(narrow<std::size_t>(rows.size()));
  std::iota(windows.begin(), windows.end(), first + rows.begin);
  return read_batch(*dataset_, seq_len_, windows);
}

}  // namespace shardgpt
