#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardgpt {

/// The classes that GPT-2's splitting rule tells apart: \p{L}, \p{N}, \s (the White_Space property) and the
/// rest.
enum class CharClass : std::uint8_t { other, letter, number, space };

struct DecodedChar {
  std::uint32_t code_point = 0;
  std::uint32_t bytes = 0;  ///< length in UTF-8; 0: the byte there begins no valid character
};

/// Strict UTF-8 at text[position]: no overlong forms, no surrogates, nothing above U+10FFFF.
[[nodiscard]] DecodedChar decode_utf8(std::string_view text, std::size_t position);

/// Appends a code point as UTF-8.
void append_utf8(std::string& out, std::uint32_t code_point);

/// Bytes that belong to no valid character.
[[nodiscard]] std::int64_t count_invalid_utf8(std::string_view text);

/// Class of every code point, by the ranges of unicode_ranges.hpp; the locale plays no part.
class UnicodeClasses {
 public:
  UnicodeClasses();
  [[nodiscard]] CharClass operator[](std::uint32_t code_point) const { return classes_[code_point]; }

 private:
  std::vector<CharClass> classes_;
};

/// Built at first use (some milliseconds).
[[nodiscard]] const UnicodeClasses& unicode_classes();

}  // namespace shardgpt
