#include "data_prep/bpe_trainer.hpp"

#include <algorithm>
#include <queue>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "data_prep/byte_alphabet.hpp"

namespace shardgpt {
namespace {

using Pair = std::pair<std::int32_t, std::int32_t>;

std::uint64_t key_of(const Pair& pair) {
  return (static_cast<std::uint64_t>(pair.first) << 32U) | static_cast<std::uint32_t>(pair.second);
}

struct Word {
  std::vector<std::int32_t> ids;
  std::int64_t count = 0;
};

struct PairState {
  std::int64_t count = 0;
  std::vector<std::uint32_t> words;  ///< where it occurs or once did; may name a word twice
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
    std::vector<std::pair<std::string_view, std::int64_t>> ordered(pieces.begin(), pieces.end());
    std::sort(ordered.begin(), ordered.end());  // so that nothing depends on the hash table's order
    for (const auto& [piece, count] : ordered) {
      Word word;
      word.count = count;
      for (const char byte : piece) {
        word.ids.push_back(id_of_byte[static_cast<unsigned char>(byte)]);
      }
      words_.push_back(std::move(word));
    }
    for (std::uint32_t index = 0; index < words_.size(); ++index) {
      count_pairs(index, words_[index].count);
    }
    for (const auto& [pair, state] : pairs_) {
      heap_.push({state.count, pair});
    }
  }

  /// One merge; false where no pair is left with `min_count`.
  bool step(std::int64_t min_count) {
    while (!heap_.empty()) {
      const Candidate top = heap_.top();
      heap_.pop();
      const auto found = pairs_.find(top.pair);
      const std::int64_t count = found == pairs_.end() ? 0 : found->second.count;
      if (count != top.count) {
        if (count > 0) {
          heap_.push({count, top.pair});
        }
        continue;
      }
      if (count < min_count) {
        return false;
      }
      merge({static_cast<std::int32_t>(top.pair >> 32U), static_cast<std::int32_t>(top.pair & 0xffffffffU)});
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
    // Two merges may give the same bytes: vocab.json has one id for them.
    const auto [entry, is_new] =
        ids_.try_emplace(std::string(bytes), static_cast<std::int32_t>(result_.tokens.size()));
    if (is_new) {
      result_.tokens.emplace_back(bytes);
    }
    return entry->second;
  }

  /// Adds `times` for each pair of the word to the counts, and remembers where pairs stand.
  void count_pairs(std::uint32_t index, std::int64_t times) {
    const std::vector<std::int32_t>& ids = words_[index].ids;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      PairState& state = pairs_[key_of({ids[i], ids[i + 1]})];
      state.count += times;
      if (times > 0 && (state.words.empty() || state.words.back() != index)) {
        state.words.push_back(index);
      }
    }
  }

  void merge(const Pair& pair) {
    const std::string bytes = result_.tokens[static_cast<std::size_t>(pair.first)] +
                              result_.tokens[static_cast<std::size_t>(pair.second)];
    // Text never makes the end-of-text token: a merge into its bytes is left out for good.
    if (bytes == end_of_text_) {
      pairs_[key_of(pair)] = {};
      return;
    }
    const std::int32_t merged = add_token(bytes);
    result_.merges.push_back(pair);
    const std::vector<std::uint32_t> words = std::move(pairs_[key_of(pair)].words);
    for (const std::uint32_t index : words) {
      merge_in_word(index, pair, merged);
    }
    pairs_.erase(key_of(pair));
    offer_grown();
  }

  void merge_in_word(std::uint32_t index, const Pair& pair, std::int32_t merged) {
    std::vector<std::int32_t>& ids = words_[index].ids;
    std::vector<std::int32_t> after;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const bool here = i + 1 < ids.size() && ids[i] == pair.first && ids[i + 1] == pair.second;
      after.push_back(here ? merged : ids[i]);
      i += here ? 1 : 0;
    }
    if (after.size() == ids.size()) {
      return;
    }
    count_pairs(index, -words_[index].count);
    ids = std::move(after);
    count_pairs(index, words_[index].count);
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      if (ids[i] == merged || ids[i + 1] == merged) {
        grown_.push_back(key_of({ids[i], ids[i + 1]}));
      }
    }
  }

  /// Only pairs with the merged token can have grown; all others keep an entry that is high enough.
  void offer_grown() {
    std::sort(grown_.begin(), grown_.end());
    grown_.erase(std::unique(grown_.begin(), grown_.end()), grown_.end());
    for (const std::uint64_t pair : grown_) {
      heap_.push({pairs_[pair].count, pair});
    }
    grown_.clear();
  }

  std::string end_of_text_;
  TrainedBpe result_;
  std::unordered_map<std::string, std::int32_t> ids_;
  std::vector<Word> words_;
  std::unordered_map<std::uint64_t, PairState> pairs_;
  std::priority_queue<Candidate> heap_;
  std::vector<std::uint64_t> grown_;
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
