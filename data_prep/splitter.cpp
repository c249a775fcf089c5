#include "data_prep/splitter.hpp"

#include <algorithm>

namespace shardgpt {
namespace {

/// Bytes of the contraction at text[begin] == '\''; 0: none there.
std::size_t contraction_bytes(std::string_view text, std::size_t begin) {
  const char first = begin + 1 < text.size() ? text[begin + 1] : '\0';
  if (first == 's' || first == 'd' || first == 'm' || first == 't') {
    return 2;
  }
  const char second = begin + 2 < text.size() ? text[begin + 2] : '\0';
  const bool found = (first == 'l' && second == 'l') || ((first == 'v' || first == 'r') && second == 'e');
  return found ? 3 : 0;
}

}  // namespace

Splitter::Splitter() : classes_(&unicode_classes()) {
  for (std::uint32_t c = 0; c < ascii_.size(); ++c) {
    ascii_[c] = (*classes_)[c];
  }
}

inline Splitter::Char Splitter::char_at(std::string_view text, std::size_t position) const {
  const auto byte = static_cast<unsigned char>(text[position]);
  return byte < 0x80 ? Char{ascii_[byte], 1} : wide_char_at(text, position);
}

Splitter::Char Splitter::wide_char_at(std::string_view text, std::size_t position) const {
  const DecodedChar decoded = decode_utf8(text, position);
  return decoded.bytes == 0 ? Char{CharClass::other, 1}
                            : Char{(*classes_)[decoded.code_point], decoded.bytes};
}

std::size_t Splitter::piece_end(std::string_view text, std::size_t begin) const {
  std::size_t position = begin;
  if (text[begin] == '\'') {
    if (const std::size_t bytes = contraction_bytes(text, begin); bytes != 0) {
      return begin + bytes;
    }
  } else if (text[begin] == ' ' && begin + 1 < text.size()) {
    ++position;  // a blank joins what follows, unless that is white space
  }
  Char first = char_at(text, position);
  if (first.type == CharClass::space) {
    return white_space_end(text, begin);
  }
  for (position += first.bytes; position < text.size();) {
    const Char next = char_at(text, position);
    if (next.type != first.type) {
      break;
    }
    position += next.bytes;
  }
  return position;
}

std::size_t Splitter::white_space_end(std::string_view text, std::size_t begin) const {
  std::size_t last = begin;
  std::size_t position = begin;
  while (position < text.size()) {
    const Char next = char_at(text, position);
    if (next.type != CharClass::space) {
      // The last one is left over for what follows; a run of one is a piece of its own (a blank never gets
      // here).
      return last == begin ? position : last;
    }
    last = position;
    position += next.bytes;
  }
  return position;
}

bool Splitter::ends_in_white_space(std::string_view text) const {
  // UTF-8 finds its own characters again: a valid one that ends here is one, wherever the reading began.
  for (std::size_t bytes = 1; bytes <= std::min<std::size_t>(4, text.size()); ++bytes) {
    const DecodedChar decoded = decode_utf8(text, text.size() - bytes);
    if (decoded.bytes == bytes) {
      return (*classes_)[decoded.code_point] == CharClass::space;
    }
  }
  return false;
}

std::size_t Splitter::last_safe_cut(std::string_view text, std::size_t from) const {
  for (std::size_t cut = text.size(); cut-- > std::max<std::size_t>(from, 1);) {
    const auto byte = static_cast<unsigned char>(text[cut]);
    if (byte < 0x80 && ascii_[byte] == CharClass::space && !ends_in_white_space(text.substr(0, cut))) {
      return cut;
    }
  }
  return 0;
}

}  // namespace shardgpt
