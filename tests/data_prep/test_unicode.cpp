#include <boost/test/unit_test.hpp>

#include "data_prep/byte_alphabet.hpp"
#include "data_prep/unicode.hpp"
#include "data_prep/unicode_ranges.hpp"

using namespace shardgpt;

BOOST_AUTO_TEST_SUITE(unicode)

BOOST_AUTO_TEST_CASE(decodes_every_code_point_and_nothing_else) {
  for (std::uint32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c < 0xe000) {
      continue;
    }
    std::string text;
    append_utf8(text, c);
    const DecodedChar decoded = decode_utf8(text, 0);
    if (decoded.code_point != c || decoded.bytes != text.size() || count_invalid_utf8(text) != 0) {
      BOOST_ERROR("code point " << c);
    }
    for (std::size_t size = 1; size < text.size(); ++size) {
      if (decode_utf8(text.substr(0, size), 0).bytes != 0) {
        BOOST_ERROR("cut code point " << c);
      }
    }
  }
  for (const char* bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    BOOST_TEST(decode_utf8(bad, 0).bytes == 0U);
  }
  BOOST_TEST(decode_utf8("", 0).bytes == 0U);
}

BOOST_AUTO_TEST_CASE(counts_invalid_bytes) {
  BOOST_TEST(count_invalid_utf8("") == 0);
  BOOST_TEST(count_invalid_utf8("a\xff"
                                "b") == 1);
  BOOST_TEST(count_invalid_utf8("0123456789\xc3(0123456789\xe2\x80") == 3);
  BOOST_TEST(count_invalid_utf8("\xed\xa0\x80") == 3);
  BOOST_TEST(count_invalid_utf8("na\xc3\xafve \xe4\xbd\xa0 \xf0\x9f\x9a\x80") == 0);
}

BOOST_AUTO_TEST_CASE(white_space_is_the_unicode_property) {
  int count = 0;
  for (std::uint32_t c = 0; c < 0x110000; ++c) {
    count += unicode_classes()[c] == CharClass::space ? 1 : 0;
  }
  BOOST_TEST(count == 25);
  for (const std::uint32_t c : {0x85U, 0xa0U, 0x1680U, 0x2028U, 0x3000U}) {
    BOOST_TEST((unicode_classes()[c] == CharClass::space));
  }
  for (const std::uint32_t c : {0x1cU, 0x1fU, 0x180eU, 0x200bU, 0x2060U, 0xfeffU}) {
    BOOST_TEST((unicode_classes()[c] == CharClass::other));
  }
}

BOOST_AUTO_TEST_CASE(letters_and_numbers_of_all_kinds) {
  for (const std::uint32_t c : {0x41U, 0xaaU, 0xdfU, 0x1c5U, 0x2b0U, 0x4f60U, 0x2000bU}) {
    BOOST_TEST((unicode_classes()[c] == CharClass::letter));
  }
  for (const std::uint32_t c : {0x30U, 0xb2U, 0xbdU, 0x660U, 0x2167U}) {
    BOOST_TEST((unicode_classes()[c] == CharClass::number));
  }
  for (const std::uint32_t c : {0x5fU, 0x301U, 0x2019U, 0x1f680U, 0xe000U, 0xd800U}) {
    BOOST_TEST((unicode_classes()[c] == CharClass::other));
  }
}

BOOST_AUTO_TEST_CASE(the_classes_are_those_of_unicode_16) {
  BOOST_TEST(unicode_version() == "16.0.0");
  int letters = 0;
  int numbers = 0;
  for (std::uint32_t c = 0; c < 0x110000; ++c) {
    letters += unicode_classes()[c] == CharClass::letter ? 1 : 0;
    numbers += unicode_classes()[c] == CharClass::number ? 1 : 0;
  }
  BOOST_TEST(letters == 141'028);
  BOOST_TEST(numbers == 1'911);
  for (const std::uint32_t c : {0x31350U, 0x2ebf0U, 0x10d4aU, 0xa7daU}) {  // new in 15.0, 15.1, 16.0, 16.0
    BOOST_TEST((unicode_classes()[c] == CharClass::letter));
  }
  BOOST_TEST((unicode_classes()[0x10d40] == CharClass::number));  // new in 16.0
}

BOOST_AUTO_TEST_CASE(the_byte_alphabet_goes_both_ways) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all.push_back(static_cast<char>(byte));
  }
  BOOST_TEST(from_byte_alphabet(to_byte_alphabet(all)).value() == all);
  BOOST_TEST(to_byte_alphabet(" a\n") ==
             "\xc4\xa0"
             "a\xc4\x8a");
  BOOST_TEST(bytes_in_alphabet_order().size() == 256U);
  BOOST_TEST(bytes_in_alphabet_order().substr(0, 3) == "!\"#");
  BOOST_TEST(static_cast<int>(static_cast<unsigned char>(bytes_in_alphabet_order()[188])) == 0);
  BOOST_TEST(!from_byte_alphabet("a b").has_value());
  BOOST_TEST(!from_byte_alphabet("\xff").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
