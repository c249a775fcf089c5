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

/// A head's tokens in memory.
template <class T>
struct HeadRows {
  const T* data = nullptr;
  std::int64_t stride = 0;
};

/// to[token][word]: words of neighbouring channels. Left operand of products over channels.
template <class Dot, class T>
void pack_rows(const HeadExtents<Dot>& extents, HeadRows<T> rows, typename Dot::Word* to) {
  const std::int64_t whole = extents.head_dim / Dot::pack;
  for (std::int64_t token = 0; token < extents.tokens; ++token) {
    const T* from = rows.data + token * rows.stride;
    typename Dot::Word* packed = to + token * extents.words;
    std::int64_t word = 0;
    if (token < extents.seq_len) {
      for (; word < whole; ++word) {
        packed[word] = Dot::word(from[word * Dot::pack], from[word * Dot::pack + Dot::pack - 1]);
      }
      if (whole * Dot::pack < extents.head_dim) {
        packed[word++] = Dot::word(from[extents.head_dim - 1], T{0});
      }
    }
    for (; word < extents.words; ++word) {
      packed[word] = 0;
    }
  }
}

/// to[word][token]: packed rows transposed. Right operand of products over channels. Sixteen tokens at a
/// time, so that stores are whole cache lines.
template <class Dot>
void transpose_rows(const HeadExtents<Dot>& extents, const typename Dot::Word* rows, typename Dot::Word* to) {
  constexpr std::int64_t block = 16;
  for (std::int64_t token = 0; token < extents.tokens; token += block) {
    const typename Dot::Word* from = rows + token * extents.words;
    for (std::int64_t word = 0; word < extents.words; ++word) {
      for (std::int64_t i = 0; i < block; ++i) {
        to[word * extents.tokens + token + i] = from[i * extents.words + word];
      }
    }
  }
}

/// to[token / pack][channel]: words of neighbouring tokens. Right operand of products over tokens.
template <class Dot, class T>
void pack_tokens(const HeadExtents<Dot>& extents, HeadRows<T> rows, typename Dot::Word* to) {
  for (std::int64_t token = 0; token < extents.tokens; token += Dot::pack) {
    const T* first = rows.data + token * rows.stride;
    const T* second = first + (Dot::pack - 1) * rows.stride;
    typename Dot::Word* packed = to + token / Dot::pack * extents.dim;
    std::int64_t channel = 0;
    if (token + Dot::pack <= extents.seq_len) {
      for (; channel < extents.head_dim; ++channel) {
        packed[channel] = Dot::word(first[channel], second[channel]);
      }
    } else if (token < extents.seq_len) {
      for (; channel < extents.head_dim; ++channel) {
        packed[channel] = Dot::word(first[channel], T{0});
      }
    }
    for (; channel < extents.dim; ++channel) {
      packed[channel] = 0;
    }
  }
}

SHARDGPT_VECTOR_END
