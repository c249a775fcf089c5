#include <map>
#include <string>

#include <boost/test/unit_test.hpp>

#include "small_tokenizer.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(piece_counts_suite)

namespace {

std::map<std::string, std::int64_t> sorted(const PieceCounts& counts) {
  std::map<std::string, std::int64_t> result;
  counts.for_each([&](std::string_view piece, std::int64_t count) {
    BOOST_TEST(result.try_emplace(std::string(piece), count).second);
  });
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(counts_short_and_long_pieces_of_a_text) {
  std::string text = english_like(100'000, 5) + " " + std::string(15, 'x') + " " + std::string(16, 'x');
  for (int i = 0; i < 3000; ++i) {  // enough different ones for the table to grow
    text += " w" + std::string(static_cast<std::size_t>(i % 20), static_cast<char>('a' + i % 26)) + "\n";
  }
  text.push_back('\0');
  std::map<std::string, std::int64_t> wanted;
  const Splitter splitter;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = splitter.piece_end(text, begin);
    ++wanted[text.substr(begin, end - begin)];
    begin = end;
  }
  const PieceCounts counts = piece_counts(text);
  BOOST_TEST((sorted(counts) == wanted));
  BOOST_TEST(counts.size() == wanted.size());
}

BOOST_AUTO_TEST_CASE(adds_up) {
  PieceCounts counts{{"a", 1}, {"a longer piece than fifteen", 2}};
  counts.add_all({{"a", 3}, {"b", 4}, {"a longer piece than fifteen", 5}});
  BOOST_TEST((sorted(counts) ==
              std::map<std::string, std::int64_t>{{"a", 4}, {"b", 4}, {"a longer piece than fifteen", 7}}));
}

BOOST_AUTO_TEST_SUITE_END()
