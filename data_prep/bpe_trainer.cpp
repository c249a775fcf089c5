#include "data_prep/bpe_trainer.hpp"

#include <limits>
#include <queue>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/checked.hpp"
#include "data_prep/byte_alphabet.hpp"
#include "data_prep/pair_table.hpp"

namespace shardgpt {
namespace {

using Pair = std::pair<std::int32_t, std::int32_t>;

std::uint64_t key_of(const Pair& pair) {
  return (static_cast<std::uint64_t>(pair.first) << 32U) | static_cast<std::uint32_t>(pair.second);
}

struct Word {
  std::size_t begin;  ///< in Trainer::ids_
  std::size_t size;
  std::int64_t count;
};

struct PairState {
  std::int64_t count = 0;
  std::int64_t grown_in_step = -1;
  std::vector<std::uint32_t> words;  ///< where it occurs or once did; may name a word twice
};

/// A pair's place in Trainer::pairs_.
struct PairIndex {
  std::uint32_t value = std::numeric_limits<std::uint32_t>::max();
};

/// A pair with a count that it had; the true one may be lower by now.
struct Candidate {
  std::int64_t count;
  std::uint64_t pair;
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class Trainer {
 public:
  Trainer(const PieceCounts& pieces, const std::string& end_of_text) : end_of_text_(end_of_text) {
    std::int32_t id_of_byte[256];
    for (const char byte : bytes_in_alphabet_order()) {
      id_of_byte[static_cast<unsigned char>(byte)] = add_token({&byte, 1});
    }
    words_.reserve(pieces.size());
    pieces.for_each([&](std::string_view piece, std::int64_t count) {
      const auto index = narrow<std::uint32_t>(words_.size());
      words_.push_back({ids_.size(), piece.size(), count});
      for (std::size_t i = 0; i < piece.size(); ++i) {
        ids_.push_back(id_of_byte[static_cast<unsigned char>(piece[i])]);
        if (i > 0) {
          add_to({*(ids_.end() - 2), ids_.back()}, count, index);
        }
      }
    });
    offer_grown();
  }

  /// One merge; false where no pair is left with `min_count`.
  bool step(std::int64_t min_count) {
    while (!heap_.empty()) {
      const Candidate top = heap_.top();
      heap_.pop();
      const Pair pair{static_cast<std::int32_t>(top.pair >> 32U),
                      static_cast<std::int32_t>(top.pair & 0xffffffffU)};
      const std::int64_t count = pairs_[index_.find(pair.first, pair.second).value].count;
      if (count != top.count) {
        if (count > 0) {
          heap_.push({count, top.pair});
        }
        continue;
      }
      if (count < min_count) {
        return false;
      }
      merge(pair);
      return true;
    }
    return false;
  }

  [[nodiscard]] std::int64_t tokens() const { return narrow<std::int64_t>(result_.tokens.size()); }
  [[nodiscard]] TrainedBpe finish() && {
    result_.tokens.push_back(end_of_text_);
    return std::move(result_);
  }

 private:
  std::int32_t add_token(std::string_view bytes) {
    result_.tokens.emplace_back(bytes);
    return static_cast<std::int32_t>(result_.tokens.size() - 1);
  }

  PairState& state_of(const Pair& pair) {
    const PairIndex next{narrow<std::uint32_t>(pairs_.size())};
    const PairIndex index = index_.find_or_insert(pair.first, pair.second, next);
    if (index.value == next.value) {
      pairs_.emplace_back();
    }
    return pairs_[index.value];
  }

  /// The pair occurs `times` more often, in a word that is new to it.
  void add_to(const Pair& pair, std::int64_t times, std::uint32_t word) {
    PairState& state = state_of(pair);
    state.count += times;
    if (state.words.empty() || state.words.back() != word) {
      state.words.push_back(word);
    }
    if (state.grown_in_step != steps_) {
      state.grown_in_step = steps_;
      grown_.push_back(pair);
    }
  }

  void merge(const Pair& pair) {
    PairState& state = state_of(pair);
    const std::vector<std::uint32_t> words = std::exchange(state, {}).words;
    const std::string bytes = result_.tokens[static_cast<std::size_t>(pair.first)] +
                              result_.tokens[static_cast<std::size_t>(pair.second)];
    // Text never makes the end-of-text token: a merge into its bytes is left out for good.
    if (bytes == end_of_text_) {
      return;
    }
    // No two merges give the same bytes: what happens within a stretch of text that becomes one token does
    // not depend on what is around it.
    const std::int32_t merged = add_token(bytes);
    result_.merges.push_back(pair);
    ++steps_;
    for (const std::uint32_t index : words) {
      merge_in_word(index, pair, merged);
    }
    state_of(pair).count = 0;  // "aaa" has lowered it while its own pairs went
    offer_grown();
  }

  void merge_in_word(std::uint32_t index, const Pair& pair, std::int32_t merged) {
    Word& word = words_[index];
    std::int32_t* const ids = ids_.data() + word.begin;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < word.size; ++kept) {
      if (i + 1 == word.size || ids[i] != pair.first || ids[i + 1] != pair.second) {
        ids[kept] = ids[i];
        ++i;
        continue;
      }
      if (kept > 0) {
        state_of({ids[kept - 1], pair.first}).count -= word.count;
        add_to({ids[kept - 1], merged}, word.count, index);
      }
      i += 2;
      if (i < word.size) {
        state_of({pair.second, ids[i]}).count -= word.count;
        add_to({merged, ids[i]}, word.count, index);
      }
      ids[kept] = merged;
    }
    word.size = kept;
  }

  /// Only pairs with the merged token can have grown; all others keep an entry that is high enough.
  void offer_grown() {
    for (const Pair& pair : grown_) {
      const std::int64_t count = state_of(pair).count;
      if (count > 0) {
        heap_.push({count, key_of(pair)});
      }
    }
    grown_.clear();
  }

  std::string end_of_text_;
  TrainedBpe result_;
  std::vector<std::int32_t> ids_;  ///< of all words, each in the place of its bytes
  std::vector<Word> words_;
  PairTable<PairIndex> index_{std::size_t{1} << 16U};
  std::vector<PairState> pairs_;
  std::priority_queue<Candidate> heap_;
  std::vector<Pair> grown_;
  std::int64_t steps_ = 0;
};

}  // namespace

std::string TrainedBpe::vocab_json() const {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    json.get_ref<nlohmann::ordered_json::object_t&>().push_back({to_byte_alphabet(tokens[id]), id});
  }
  return json.dump();
}

std::string TrainedBpe::merges_text() const {
  std::string text = "#version: 0.2\n";
  for (const auto& [left, right] : merges) {
    text += to_byte_alphabet(tokens[static_cast<std::size_t>(left)]) + " " +
            to_byte_alphabet(tokens[static_cast<std::size_t>(right)]) + "\n";
  }
  return text;
}

TrainedBpe train_bpe(const PieceCounts& pieces, std::int64_t vocab_size, std::int64_t min_count,
                     const std::string& end_of_text) {
  Trainer trainer(pieces, end_of_text);
  while (trainer.tokens() + 1 < vocab_size && trainer.step(min_count)) {
  }
  return std::move(trainer).finish();
}

}  // namespace shardgpt
