#include "data_prep/unicode.hpp"

#include <cstring>

#include <utf8proc.h>

namespace shardgpt {
namespace {

constexpr std::uint32_t code_points = 0x110000;

/// The White_Space property, fixed since Unicode 6.3. It is what \s means in the regex engines of the common
/// GPT-2 tokenizers: with U+0085, without U+001C … U+001F, U+180E and U+200B.
bool is_white_space(std::uint32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

CharClass classify(std::uint32_t c) {
  if (is_white_space(c)) {
    return CharClass::space;
  }
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharClass::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharClass::number;
    default:
      return CharClass::other;
  }
}

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
  utf8proc_uint8_t bytes[4];
  const auto size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
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

UnicodeClasses::UnicodeClasses() : classes_(code_points) {
  for (std::uint32_t c = 0; c < code_points; ++c) {
    classes_[c] = classify(c);
  }
}

const UnicodeClasses& unicode_classes() {
  static const UnicodeClasses classes;
  return classes;
}

}  // namespace shardgpt
