#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data_prep/piece_counts.hpp"

namespace shardgpt {

/// A tokenizer as vocab.json and merges.txt hold it.
struct TrainedBpe {
  std::vector<std::string> tokens;  ///< bytes by id; the end-of-text token is last
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;

  [[nodiscard]] std::string vocab_json() const;
  [[nodiscard]] std::string merges_text() const;
};

/// Learns merges until there are `vocab_size` tokens with the 256 bytes and `end_of_text`, or no pair occurs
/// `min_count` times. In each step the pair with the highest count is merged; of equal ones that with the
/// lowest left id, then the lowest right id. So the result depends on the counts alone, and the merges are
/// those of the trainer in Hugging Face tokenizers, which has the same rule.
[[nodiscard]] TrainedBpe train_bpe(const PieceCounts& pieces, std::int64_t vocab_size, std::int64_t min_count,
                                   const std::string& end_of_text);

}  // namespace shardgpt
