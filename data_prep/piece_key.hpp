#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace shardgpt {

/// A short piece of text as a value for hash tables: its bytes, padded with zeros, and its length in the last
/// byte. The default one stands for no piece.
class PieceKey {
 public:
  static constexpr std::size_t max_bytes = 15;

  PieceKey() = default;
  /// The piece of `size` ≤ max_bytes bytes at text[begin].
  PieceKey(std::string_view text, std::size_t begin, std::size_t size) {
    if (begin + sizeof words_ <= text.size()) {
      // One load of fixed size is much faster than a copy of unknown length; what is not the piece's is
      // masked off.
      std::memcpy(words_.data(), text.data() + begin, sizeof words_);
      const std::uint64_t low_bytes = std::min<std::size_t>(size, 8);
      words_[0] &= low_bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * low_bytes)) - 1;
      words_[1] &= size <= 8 ? 0 : (std::uint64_t{1} << (8 * (size - 8))) - 1;
    } else {
      std::memcpy(words_.data(), text.data() + begin, size);
    }
    words_[1] |= static_cast<std::uint64_t>(size) << 56U;
  }

  bool operator==(const PieceKey& other) const {  // the default one would call memcmp
    return ((words_[0] ^ other.words_[0]) | (words_[1] ^ other.words_[1])) == 0;
  }
  /// Well mixed in its upper 32 bits.
  [[nodiscard]] std::uint64_t hash() const {
    return (words_[0] ^ (words_[1] * 0xff51afd7ed558ccdU)) * 0x9e3779b97f4a7c15U;
  }
  [[nodiscard]] bool empty() const { return words_[1] == 0; }
  /// The piece's bytes; a view into the key.
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(words_.data()), static_cast<std::size_t>(words_[1] >> 56U)};
  }

 private:
  std::array<std::uint64_t, 2> words_{};
};

}  // namespace shardgpt
