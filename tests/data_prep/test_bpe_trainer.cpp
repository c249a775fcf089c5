#include <map>

#include <boost/test/unit_test.hpp>

#include "data_prep/byte_alphabet.hpp"
#include "small_tokenizer.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(bpe_trainer)

namespace {

/// The textbook algorithm: count all pairs anew for each merge.
std::vector<std::pair<std::int32_t, std::int32_t>> merges_by_the_book(const PieceCounts& pieces,
                                                                      std::size_t merges) {
  std::vector<std::string> tokens;
  std::map<std::string, std::int32_t> ids;
  for (const char byte : bytes_in_alphabet_order()) {
    ids[std::string(1, byte)] = static_cast<std::int32_t>(tokens.size());
    tokens.emplace_back(1, byte);
  }
  std::vector<std::pair<std::vector<std::int32_t>, std::int64_t>> words;
  pieces.for_each([&](std::string_view piece, std::int64_t count) {
    words.emplace_back();
    words.back().second = count;
    for (const char byte : piece) {
      words.back().first.push_back(ids.at(std::string(1, byte)));
    }
  });
  std::vector<std::pair<std::int32_t, std::int32_t>> result;
  while (result.size() < merges) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t>
        counts;  // in order of the pairs: ties by lowest
    for (const auto& [word, count] : words) {
      for (std::size_t i = 0; i + 1 < word.size(); ++i) {
        counts[{word[i], word[i + 1]}] += count;
      }
    }
    const auto best = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == counts.end() || best->second < 2) {
      break;
    }
    const auto pair = best->first;
    result.push_back(pair);
    const std::string bytes =
        tokens[static_cast<std::size_t>(pair.first)] + tokens[static_cast<std::size_t>(pair.second)];
    const auto [entry, is_new] = ids.try_emplace(bytes, static_cast<std::int32_t>(tokens.size()));
    if (is_new) {
      tokens.push_back(bytes);
    }
    for (auto& [word, count] : words) {
      for (std::size_t i = 0; i + 1 < word.size(); ++i) {
        if (word[i] == pair.first && word[i + 1] == pair.second) {
          word[i] = entry->second;
          word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
      }
    }
  }
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(merges_are_those_of_the_textbook_algorithm) {
  for (const std::string& text : {english_like(20'000, 3), std::string("aaaa aaa aaaaaaa aa abab ababab"),
                                  std::string("xyxyx xyz zyx xy\xff\xff yx xyxyxyxyxyx")}) {
    const PieceCounts pieces = piece_counts(text);
    const TrainedBpe trained = train_bpe(pieces, 500, 2, "<|endoftext|>");
    const auto wanted = merges_by_the_book(pieces, trained.merges.size() + 1);
    BOOST_TEST(trained.merges.size() >= 3U);
    BOOST_TEST_REQUIRE(wanted.size() >= trained.merges.size());
    for (std::size_t i = 0; i < trained.merges.size(); ++i) {
      BOOST_TEST_REQUIRE((trained.merges[i] == wanted[i]));
    }
    if (trained.tokens.size() < 500) {
      BOOST_TEST(wanted.size() == trained.merges.size());
    }
  }
}

BOOST_AUTO_TEST_CASE(ids_follow_gpt2) {
  const TrainedBpe& trained = small_bpe();
  BOOST_TEST(trained.tokens.size() == 600U);
  BOOST_TEST(trained.tokens.front() == "!");
  BOOST_TEST(trained.tokens.back() == "<|endoftext|>");
  BOOST_TEST(trained.merges_text().substr(0, 14) == "#version: 0.2\n");
  BOOST_TEST(small_model().vocab_size() == 600);
  BOOST_TEST(small_model().merges() == trained.merges.size());
}

BOOST_AUTO_TEST_CASE(equal_counts_go_to_the_lowest_ids) {
  // ab, cd, ef each twice: ids of 'a' < 'c' < 'e'.
  const TrainedBpe trained = train_bpe({{"ef", 2}, {"cd", 2}, {"ab", 2}}, 1000, 2, "<|endoftext|>");
  BOOST_TEST(trained.tokens.size() == 260U);
  BOOST_TEST(trained.tokens[256] == "ab");
  BOOST_TEST(trained.tokens[257] == "cd");
  BOOST_TEST(trained.tokens[258] == "ef");
}

BOOST_AUTO_TEST_CASE(rare_pairs_are_not_merged) {
  BOOST_TEST(train_bpe({{"ab", 2}, {"cd", 1}}, 1000, 2, "<|endoftext|>").merges.size() == 1U);
  BOOST_TEST(train_bpe({{"ab", 2}, {"cd", 1}}, 1000, 1, "<|endoftext|>").merges.size() == 2U);
  BOOST_TEST(train_bpe(PieceCounts(), 1000, 1, "<|endoftext|>").tokens.size() == 257U);
}

BOOST_AUTO_TEST_CASE(text_never_merges_into_the_end_of_text_token) {
  const TrainedBpe trained = train_bpe({{"<e>", 9}, {"<e>x", 9}}, 1000, 2, "<e>");
  BOOST_TEST(std::count(trained.tokens.begin(), trained.tokens.end(), "<e>") == 1);
  BOOST_TEST(trained.tokens.back() == "<e>");
}

BOOST_AUTO_TEST_SUITE_END()
