#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data_prep/bpe_model.hpp"
#include "data_prep/bpe_trainer.hpp"
#include "data_prep/splitter.hpp"
#include "tests/tokens/token_files.hpp"

namespace shardgpt::testing {

/// A linear congruential generator: the same texts on every machine.
class TestRandom {
 public:
  explicit TestRandom(std::uint64_t seed) : state_(seed) {}
  std::uint32_t below(std::uint32_t limit) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>((state_ >> 33U) % limit);
  }

 private:
  std::uint64_t state_;
};

/// Words of a small made-up language, with commas, lines and numbers.
inline std::string english_like(std::size_t bytes, std::uint64_t seed = 1) {
  static const char* const syllables[] = {"the", "an", "er",   "in",  "re", "on", "at", "en",
                                          "or",  "es", "it's", "ing", "ed", "is", "of", "to",
                                          "al",  "ar", "st",   "ne",  "lo", "ma", "ti", "che"};
  TestRandom random(seed);
  std::string text;
  while (text.size() < bytes) {
    const std::uint32_t count = 1 + random.below(3) * random.below(2);
    for (std::uint32_t i = 0; i < count; ++i) {
      text += syllables[random.below(24) * (1 + random.below(3)) / 3 % 24];
    }
    const std::uint32_t end = random.below(20);
    text += end == 0 ? ".\n" : end == 1 ? ", " : " ";
    if (end == 2) {
      text += std::to_string(random.below(2000));
      text += ' ';
    }
  }
  return text;
}

inline PieceCounts piece_counts(std::string_view text) {
  PieceCounts counts;
  counts.add_text(Splitter(), text);
  return counts;
}

inline const TrainedBpe& small_bpe() {
  static const TrainedBpe trained = train_bpe(piece_counts(english_like(60'000)), 600, 2, "<|endoftext|>");
  return trained;
}

inline const BpeModel& small_model() {
  static const BpeModel model =
      BpeModel::parse(small_bpe().vocab_json(), "vocab.json", small_bpe().merges_text(), "merges.txt");
  return model;
}

/// The textbook algorithm, slow and plain: again and again the leftmost pair of lowest rank.
inline std::vector<std::int32_t> merged_by_the_book(const BpeModel& model, std::string_view piece) {
  std::vector<std::int32_t> ids;
  for (const char byte : piece) {
    ids.push_back(model.id_of_byte(static_cast<unsigned char>(byte)));
  }
  while (true) {
    Merge best;
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      if (const Merge merge = model.merge_of(ids[i], ids[i + 1]); merge.rank < best.rank) {
        best = merge;
        place = i;
      }
    }
    if (best.rank == Merge::no_rank) {
      return ids;
    }
    ids[place] = best.id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

/// Writes the small tokenizer's files into a folder.
inline void write_small_tokenizer(const TemporaryFolder& folder) {
  write_bytes(folder / "vocab.json", small_bpe().vocab_json());
  write_bytes(folder / "merges.txt", small_bpe().merges_text());
}

}  // namespace shardgpt::testing
