#include <ctime>

#include <boost/test/unit_test.hpp>

#include "data_prep/bpe_encoder.hpp"
#include "small_tokenizer.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(bpe_encoder)

namespace {

std::vector<std::int32_t> encode(BpeEncoder& encoder, std::string_view text) {
  std::vector<std::int32_t> ids;
  encoder.encode(text, ids);
  return ids;
}

std::vector<std::int32_t> by_the_book(std::string_view text) {
  const Splitter splitter;
  std::vector<std::int32_t> ids;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = splitter.piece_end(text, begin);
    const auto part = merged_by_the_book(small_model(), text.substr(begin, end - begin));
    ids.insert(ids.end(), part.begin(), part.end());
    begin = end;
  }
  return ids;
}

/// Letters of the training text without any blank, `size` of them.
std::string one_word(std::size_t size, std::uint64_t seed) {
  TestRandom random(seed);
  std::string word;
  while (word.size() < size) {
    if (random.below(2) == 0) {
      word.push_back(static_cast<char>('a' + random.below(26)));
    } else {
      word.append(random.below(2) == 0 ? "the" : "er");
    }
  }
  word.resize(size);
  return word;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ids_are_those_of_the_textbook_algorithm) {
  BpeEncoder encoder(small_model());
  const std::string text = english_like(30'000, 7) + "  \xe4\xbd\xa0\xe5\xa5\xbd \xff\xfe x";
  const auto ids = by_the_book(text);
  BOOST_TEST(encode(encoder, text) == ids, boost::test_tools::per_element());
  BOOST_TEST(encode(encoder, text) == ids, boost::test_tools::per_element());  // now from the cache
  BOOST_TEST(ids.size() < text.size() / 2);
}

BOOST_AUTO_TEST_CASE(words_of_every_length_by_all_three_ways) {
  BpeEncoder encoder(small_model());
  for (std::size_t size = 1; size <= 200; ++size) {
    const std::string word = one_word(size, size);
    BOOST_TEST_REQUIRE(encode(encoder, word) == by_the_book(word), boost::test_tools::per_element());
    const std::string same(size, 'e');
    BOOST_TEST_REQUIRE(encode(encoder, same) == by_the_book(same), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(zero_bytes_do_not_confuse_the_cache) {
  BpeEncoder encoder(small_model());
  for (std::size_t size = 1; size <= 40; ++size) {
    const std::string zeros(size, '\0');
    BOOST_TEST(encode(encoder, zeros) == std::vector<std::int32_t>(size, small_model().id_of_byte(0)),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(every_byte_comes_back) {
  BpeEncoder encoder(small_model());
  TestRandom random(11);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (std::uint32_t i = random.below(100); i > 0; --i) {
      text.push_back(static_cast<char>(random.below(256)));
    }
    std::string back;
    small_model().decode(encode(encoder, text), back);
    BOOST_TEST_REQUIRE(back == text);
  }
}

BOOST_AUTO_TEST_CASE(time_for_one_long_word_grows_about_linearly) {
  BpeEncoder encoder(small_model());
  const auto seconds_for = [&](const std::string& word) {
    const std::clock_t start = std::clock();  // processor time: other programs do not disturb it
    const auto ids = encode(encoder, word);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    std::string back;
    small_model().decode(ids, back);
    BOOST_TEST((back == word));
    return seconds;
  };
  for (const std::string& base : {std::string(1'000'000, 'a'), std::string(1'000'000, '_'),
                                  std::string(1'000'000, '7'), one_word(1'000'000, 5)}) {
    const double small = seconds_for(base.substr(0, 100'000));
    const double large = seconds_for(base);
    // 10 times the work; a quadratic loop would need 100 times, on any machine.
    BOOST_TEST(large < 40 * small + 0.05);
  }
}

BOOST_AUTO_TEST_SUITE_END()
