#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "data_prep/unicode.hpp"

namespace shardgpt {

/// GPT-2's rule for cutting text into pieces that are merged each on its own:
/// `'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`, first alternative that matches.
/// A byte that is no valid UTF-8 counts as one character of class other.
class Splitter {
 public:
  Splitter();

  /// End of the piece that begins at `begin` < text.size().
  [[nodiscard]] std::size_t piece_end(std::string_view text, std::size_t begin) const;

  /// The last place at which a text may be cut in two without changing its pieces, whatever follows: before a
  /// white-space byte that follows a character which is none. 0 where there is no such place after `from`.
  [[nodiscard]] std::size_t last_safe_cut(std::string_view text, std::size_t from = 0) const;

 private:
  struct Char {
    CharClass type;
    std::size_t bytes;
  };
  [[nodiscard]] Char char_at(std::string_view text, std::size_t position) const;
  [[nodiscard]] Char wide_char_at(std::string_view text, std::size_t position) const;
  [[nodiscard]] std::size_t white_space_end(std::string_view text, std::size_t begin) const;
  [[nodiscard]] bool ends_in_white_space(std::string_view text) const;

  const UnicodeClasses* classes_;
  std::array<CharClass, 128> ascii_ = {};
};

}  // namespace shardgpt
