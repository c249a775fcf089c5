#include <clocale>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "data_prep/splitter.hpp"
#include "small_tokenizer.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(splitter)

namespace {

using Pieces = std::vector<std::string>;

Pieces pieces_of(std::string_view text) {
  const Splitter splitter;
  Pieces pieces;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = splitter.piece_end(text, begin);
    BOOST_TEST_REQUIRE((end > begin && end <= text.size()));
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

void splits(std::string_view text, const Pieces& pieces) {
  BOOST_TEST(pieces_of(text) == pieces, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_CASE(white_space) {
  splits("a   b", {"a", "  ", " b"});
  splits("a\t\tb", {"a", "\t", "\t", "b"});
  splits("abc  ", {"abc", "  "});
  splits("a\n\n\nb", {"a", "\n\n", "\n", "b"});
  splits("a\n b", {"a", "\n", " b"});
  splits("\n        x", {"\n       ", " x"});
  splits("a \n", {"a", " \n"});
  splits(" ", {" "});
  splits("\n", {"\n"});
  splits("a\tb", {"a", "\t", "b"});
  splits(
      "a\xc2\xa0"
      "b",
      {"a", "\xc2\xa0", "b"});                               // only a plain blank joins
  splits("a \xe3\x80\x80 b", {"a", " \xe3\x80\x80", " b"});  // U+3000
  splits(
      "a\xc2\x85\xe2\x80\xa8"
      "b",
      {"a", "\xc2\x85", "\xe2\x80\xa8", "b"});
  splits(
      "a\x1c"
      "b \xe2\x80\x8b",
      {"a", "\x1c", "b", " \xe2\x80\x8b"});  // U+001C and U+200B are none
}

BOOST_AUTO_TEST_CASE(contractions) {
  splits("I'll we've HE'LL don't DON'T y'all 'twas it\xe2\x80\x99s",
         {"I", "'ll", " we", "'ve", " HE", "'",  "LL",   " don", "'t",           " DON",
          "'", "T",   " y",  "'",   "all", " '", "twas", " it",  "\xe2\x80\x99", "s"});
  splits("'s'S a'lL", {"'s", "'", "S", " a", "'", "lL"});
  splits("!'s", {"!'", "s"});
  splits("'re'd'm'l", {"'re", "'d", "'m", "'", "l"});
  splits("x'", {"x", "'"});
  splits("x'v", {"x", "'", "v"});
}

BOOST_AUTO_TEST_CASE(letters_numbers_and_the_rest) {
  splits("ab12!? 3x,4", {"ab", "12", "!?", " 3", "x", ",", "4"});
  splits("na\xc3\xafve caf\xc3\xa9", {"na\xc3\xafve", " caf\xc3\xa9"});
  splits(
      "and\xe2\x80\x94"
      "following",
      {"and", "\xe2\x80\x94", "following"});
  splits("e\xcc\x81x", {"e", "\xcc\x81", "x"});  // a combining mark is no letter
  splits("x\xc2\xb2y", {"x", "\xc2\xb2", "y"});
  splits("a_b", {"a", "_", "b"});
}

BOOST_AUTO_TEST_CASE(invalid_bytes_are_one_symbol_each) {
  splits(
      "a\xff"
      "b",
      {"a", "\xff", "b"});
  splits("\xc3(", {"\xc3("});
  splits("x\xe2\x80", {"x", "\xe2\x80"});
  splits(" \xc0\x80y", {" \xc0\x80", "y"});
  splits(std::string_view("a\0b", 3), {"a", std::string(1, '\0'), "b"});
}

BOOST_AUTO_TEST_CASE(the_locale_changes_nothing) {
  const std::string text = "na\xc3\xafve \xe6\x97\xa5\xe6\x9c\xac 12";
  const Pieces before = pieces_of(text);
  for (const char* locale : {"C", "C.UTF-8"}) {
    std::setlocale(LC_ALL, locale);
    splits(text, before);
  }
  std::setlocale(LC_ALL, "C");
}

BOOST_AUTO_TEST_CASE(a_safe_cut_changes_no_piece) {
  const Splitter splitter;
  const std::vector<std::string> parts{
      "a",        "'s",           " ",    "  ",           "\n",      "1", "!", "\t", "'",
      "\xc2\xa0", "\xe4\xbd\xa0", "\xff", "\xe3\x80\x80", "\xe2\x80"};
  TestRandom random(3);
  int cuts = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::uint32_t i = 1 + random.below(12); i > 0; --i) {
      text += parts[random.below(static_cast<std::uint32_t>(parts.size()))];
    }
    const std::size_t known = 1 + random.below(static_cast<std::uint32_t>(text.size()));
    const std::size_t cut = splitter.last_safe_cut(std::string_view(text).substr(0, known));
    if (cut == 0) {
      continue;
    }
    ++cuts;
    Pieces joined = pieces_of(text.substr(0, cut));
    const Pieces rest = pieces_of(text.substr(cut));
    joined.insert(joined.end(), rest.begin(), rest.end());
    BOOST_TEST_REQUIRE(joined == pieces_of(text), boost::test_tools::per_element());
  }
  BOOST_TEST(cuts > 5000);
}

BOOST_AUTO_TEST_CASE(safe_cuts_are_found_where_they_are) {
  const Splitter splitter;
  BOOST_TEST(splitter.last_safe_cut("ab cd ef") == 5U);
  BOOST_TEST(splitter.last_safe_cut("ab cd ef", 6) == 0U);
  BOOST_TEST(splitter.last_safe_cut("ab cd ef", 5) == 5U);
  BOOST_TEST(splitter.last_safe_cut("ab   ") == 2U);
  BOOST_TEST(splitter.last_safe_cut(" ab") == 0U);
  BOOST_TEST(splitter.last_safe_cut("\xe3\x80\x80 a") == 0U);
  BOOST_TEST(splitter.last_safe_cut("\xe4\xbd\xa0 a") == 3U);
  BOOST_TEST(splitter.last_safe_cut("") == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
