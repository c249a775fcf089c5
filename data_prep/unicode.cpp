#include "data_prep/unicode.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "data_prep/unicode_ranges.hpp"

namespace shardgpt {
namespace {

constexpr std::uint32_t code_points = 0x110000;

/// The White_Space property, fixed since Unicode 6.3. It is what \s means in the regex engines of the common
/// GPT-2 tokenizers: with U+0085, without U+001C … U+001F, U+180E and U+200B.
constexpr CodePointRange white_space[] = {
    {0x09, 0x0d},     {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
    {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000},
};

/// Bytes of the ASCII run at `position`.
std::size_t ascii_run(std::string_view text, std::size_t position) {
  std::size_t end = position;
  std::uint64_t word = 0;
  while (end + sizeof word <= text.size()) {
    std::memcpy(&word, text.data() + end, sizeof word);
    if ((word & 0x8080808080808080U) != 0) {
      break;
    }
    end += sizeof word;
  }
  while (end < text.size() && static_cast<unsigned char>(text[end]) < 0x80) {
    ++end;
  }
  return end - position;
}

}  // namespace

DecodedChar decode_utf8(std::string_view text, std::size_t position) {
  const auto byte = [&](std::size_t offset) -> std::uint32_t {
    return position + offset < text.size() ? static_cast<unsigned char>(text[position + offset]) : 0U;
  };
  const auto continues = [&](std::size_t offset) { return (byte(offset) & 0xc0U) == 0x80U; };
  const std::uint32_t first = byte(0);
  if (first < 0x80) {
    return {first, position < text.size() ? 1U : 0U};
  }
  if (first >= 0xc2 && first <= 0xdf && continues(1)) {
    return {((first & 0x1fU) << 6U) | (byte(1) & 0x3fU), 2};
  }
  if (first >= 0xe0 && first <= 0xef && continues(1) && continues(2)) {
    const std::uint32_t c = ((first & 0xfU) << 12U) | ((byte(1) & 0x3fU) << 6U) | (byte(2) & 0x3fU);
    return c >= 0x800 && (c < 0xd800 || c > 0xdfff) ? DecodedChar{c, 3} : DecodedChar{};
  }
  if (first >= 0xf0 && first <= 0xf4 && continues(1) && continues(2) && continues(3)) {
    const std::uint32_t c =
        ((first & 0x7U) << 18U) | ((byte(1) & 0x3fU) << 12U) | ((byte(2) & 0x3fU) << 6U) | (byte(3) & 0x3fU);
    return c >= 0x10000 && c < code_points ? DecodedChar{c, 4} : DecodedChar{};
  }
  return {};
}

void append_utf8(std::string& out, std::uint32_t code_point) {
  const auto push = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  const auto push_continuation = [&](std::uint32_t shift) { push(0x80U | ((code_point >> shift) & 0x3fU)); };
  if (code_point < 0x80) {
    push(code_point);
  } else if (code_point < 0x800) {
    push(0xc0U | (code_point >> 6U));
    push_continuation(0);
  } else if (code_point < 0x10000) {
    push(0xe0U | (code_point >> 12U));
    push_continuation(6);
    push_continuation(0);
  } else {
    push(0xf0U | (code_point >> 18U));
    push_continuation(12);
    push_continuation(6);
    push_continuation(0);
  }
}

std::int64_t count_invalid_utf8(std::string_view text) {
  std::int64_t invalid = 0;
  for (std::size_t position = 0; position < text.size();) {
    position += ascii_run(text, position);
    while (position < text.size() && static_cast<unsigned char>(text[position]) >= 0x80) {
      const std::uint32_t bytes = decode_utf8(text, position).bytes;
      invalid += bytes == 0 ? 1 : 0;
      position += bytes == 0 ? 1 : bytes;
    }
  }
  return invalid;
}

UnicodeClasses::UnicodeClasses() : classes_(code_points, CharClass::other) {
  const auto set = [&](std::span<const CodePointRange> ranges, CharClass type) {
    for (const CodePointRange& range : ranges) {
      std::fill(classes_.begin() + range.first, classes_.begin() + range.last + 1, type);
    }
  };
  set(letter_ranges(), CharClass::letter);
  set(number_ranges(), CharClass::number);
  set(white_space, CharClass::space);
}

const UnicodeClasses& unicode_classes() {
  static const UnicodeClasses classes;
  return classes;
}

}  // namespace shardgpt
