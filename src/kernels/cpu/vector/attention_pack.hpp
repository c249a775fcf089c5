#pragma once

#include "kernels/cpu/vector/tile_product.hpp"
#include "kernels/cpu/vector/vector_kernels.hpp"

SHARDGPT_VECTOR_BEGIN

/// Extents of one head's packed operands. Tokens are padded to whole tiles, the head to whole vectors, both
/// with zeros, which change no sum.
template <class Dot>
struct HeadExtents {
  static constexpr std::int64_t tile = 64;  // tokens of a tile, of queries and of keys
  std::int64_t seq_len = 0;
  std::int64_t head_dim = 0;
  std::int64_t tokens = 0;  // padded
  std::int64_t dim = 0;     // padded
  std::int64_t words = 0;   // of one token

  HeadExtents(std::int64_t seq_len_in, std::int64_t head_dim_in)
      : seq_len(seq_len_in),
        head_dim(head_dim_in),
        tokens((seq_len + tile - 1) / tile * tile),
        dim((head_dim + tile_cols - 1) / tile_cols * tile_cols),
        words(dim / Dot::pack) {}
  /// Words of one packed operand, in any of the three forms below.
  [[nodiscard]] std::int64_t operand() const { return tokens * words; }
};

/// Element (token, channel) of a head's rows, zero in the padding.
template <class T>
struct HeadRows {
  const T* data = nullptr;
  std::int64_t stride = 0;
  std::int64_t seq_len = 0;
  std::int64_t head_dim = 0;

  [[gnu::always_inline]] float at(std::int64_t token, std::int64_t channel) const {
    return token < seq_len && channel < head_dim ? load(data[token * stride + channel]) : 0.0F;
  }
};

/// to[token][word]: words of neighbouring channels. Left operand of products over channels.
template <class Dot, class T>
void pack_rows(const HeadExtents<Dot>& extents, const HeadRows<T>& rows, typename Dot::Word* to) {
  for (std::int64_t token = 0; token < extents.tokens; ++token) {
    for (std::int64_t word = 0; word < extents.words; ++word) {
      const std::int64_t channel = word * Dot::pack;
      to[token * extents.words + word] = Dot::word(rows.at(token, channel), rows.at(token, channel + 1));
    }
  }
}

/// to[word][token]: the same words transposed. Right operand of products over channels.
template <class Dot, class T>
void pack_transposed(const HeadExtents<Dot>& extents, const HeadRows<T>& rows, typename Dot::Word* to) {
  for (std::int64_t token = 0; token < extents.tokens; ++token) {
    for (std::int64_t word = 0; word < extents.words; ++word) {
      const std::int64_t channel = word * Dot::pack;
      to[word * extents.tokens + token] = Dot::word(rows.at(token, channel), rows.at(token, channel + 1));
    }
  }
}

/// to[token / pack][channel]: words of neighbouring tokens. Either operand of products over tokens.
template <class Dot, class T>
void pack_tokens(const HeadExtents<Dot>& extents, const HeadRows<T>& rows, typename Dot::Word* to) {
  for (std::int64_t token = 0; token < extents.tokens; token += Dot::pack) {
    for (std::int64_t channel = 0; channel < extents.dim; ++channel) {
      to[token / Dot::pack * extents.dim + channel] =
          Dot::word(rows.at(token, channel), rows.at(token + 1, channel));
    }
  }
}

SHARDGPT_VECTOR_END
