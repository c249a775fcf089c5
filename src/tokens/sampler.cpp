#include "tokens/sampler.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/philox.hpp"
#include "tokens/permutation.hpp"

namespace shardgpt {
namespace {

void require_positive(std::int64_t value, const char* name) {
  SHARDGPT_REQUIRE(value >= 1, fmt::format("{} is {}, wanted 1 or more", name, value));
}

}  // namespace

RowRange rank_rows(std::int64_t rows, int rank, int ranks) {
  if (ranks < 1 || rank < 0 || rank >= ranks || rows < 0) {
    throw std::invalid_argument(fmt::format("{} rows for rank {} of {}", rows, rank, ranks));
  }
  return {checked_mul<std::int64_t>(rank, rows) / ranks, checked_mul<std::int64_t>(rank + 1, rows) / ranks};
}

Sampler::Sampler(const SamplerConfig& config) : config_(config) {
  require_positive(config.seq_len, "the sequence length (--seq-len)");
  require_positive(config.global_batch, "the batch (--global-batch)");
  windows_ = (std::max<std::int64_t>(config.tokens, 1) - 1) / config.seq_len;
  SHARDGPT_REQUIRE(
      windows_ >= config.global_batch,
      fmt::format(
          "too little data: {} tokens are present, one step needs {} (--global-batch {} x --seq-len {} + 1); "
          "give more data, or lower --global-batch or --seq-len",
          config.tokens, checked_add<std::int64_t>(checked_mul(config.global_batch, config.seq_len), 1),
          config.global_batch, config.seq_len));
}

std::int64_t Sampler::samples_in_epochs(std::int64_t epochs) const {
  require_positive(epochs, "the number of epochs (--epochs)");
  return checked_mul(epochs, windows_);
}

std::int64_t Sampler::steps_for(std::int64_t samples) const {
  return ceil_div(samples, config_.global_batch);
}

std::int64_t Sampler::window_of(std::int64_t sample) const {
  const std::int64_t position = sample % windows_;
  if (config_.order == SampleOrder::sequential) {
    return position;
  }
  const RandomStream random(config_.seed, RandomPurpose::data_order, narrow<std::uint32_t>(epoch_of(sample)));
  return Permutation(windows_, random)(position);
}

std::int64_t Sampler::rows_in(std::int64_t step) const {
  const std::int64_t first = checked_mul(step, config_.global_batch);
  return std::clamp<std::int64_t>(config_.sample_limit - first, 0, config_.global_batch);
}

std::vector<std::int64_t> Sampler::windows(std::int64_t step, int rank, int ranks) const {
  if (step < 0) {
    throw std::invalid_argument("negative step");
  }
  const RowRange rows = rank_rows(rows_in(step), rank, ranks);
  std::vector<std::int64_t> result;
  result.reserve(narrow<std::size_t>(rows.size()));
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    result.push_back(window_of(step * config_.global_batch + row));
  }
  return result;
}

}  // namespace shardgpt
