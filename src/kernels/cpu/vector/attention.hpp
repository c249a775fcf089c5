#pragma once

#include "kernels/cpu/vector/attention_pack.hpp"

// Causal attention of one head in tiles of 64 queries x 64 keys that stay in the first-level cache. Score
// tiles are kept transposed, [key][query]: maxima, sums and scaling of a query are then vertical vector
// operations, and no tile has to be transposed between its products. Probabilities and score gradients are
// rounded to the words of `Dot` (bf16 pairs, or float) for the products that take them; sums are float.

SHARDGPT_VECTOR_BEGIN

/// Hands out consecutive pieces of the workspace, all multiples of 64 bytes.
struct Carver {
  float* next = nullptr;
  template <class Word>
  Word* take(std::int64_t words) {
    static_assert(sizeof(Word) == sizeof(float));
    auto* piece = reinterpret_cast<Word*>(next);
    next += words;
    return piece;
  }
};

/// Floats that either direction needs; backward is the larger: seven operands, dq, dk and dv of a tile, score
/// tiles.
template <class Dot>
std::int64_t attention_workspace(std::int64_t seq_len, std::int64_t head_dim) {
  const HeadExtents<Dot> extents(seq_len, head_dim);
  constexpr std::int64_t tile = HeadExtents<Dot>::tile;
  return 7 * extents.operand() + extents.dim * extents.tokens + 2 * tile * extents.dim + 5 * tile * tile +
         2 * extents.tokens + 4 * tile;
}

/// Scores that lie in the future of their query become -inf; only the tile on the diagonal has any.
inline void mask_diagonal(float* scores, std::int64_t tile) {
  for (std::int64_t key = 0; key < tile; ++key) {
    for (std::int64_t query = 0; query < key; ++query) {
      scores[key * tile + query] = -__builtin_inff();
    }
  }
}

/// Running softmax of one block of queries.
template <std::int64_t tile>
struct QueryStatistics {
  alignas(64) float largest[std::size_t{tile}];
  alignas(64) float sum[std::size_t{tile}];
  alignas(64) float shrink[std::size_t{tile}];  // what earlier sums are multiplied with after a new maximum

  QueryStatistics() {
    for (std::int64_t query = 0; query < tile; ++query) {
      largest[query] = -__builtin_inff();
      sum[query] = 0;
    }
  }

  /// Turns a score tile into probabilities relative to the new maxima, as words over pairs of keys.
  template <class Dot>
  void absorb(const float* scores, float scale, typename Dot::Word* probabilities) {
    for (std::int64_t query = 0; query < tile; ++query) {
      shrink[query] = largest[query];
    }
    for (std::int64_t key = 0; key < tile; ++key) {
      for (std::int64_t query = 0; query < tile; ++query) {
        largest[query] = larger(scores[key * tile + query], largest[query]);
      }
    }
    for (std::int64_t query = 0; query < tile; ++query) {
      shrink[query] = exp_of((shrink[query] - largest[query]) * scale);
      sum[query] *= shrink[query];
    }
    for (std::int64_t key = 0; key < tile; key += Dot::pack) {
      const float* first = scores + key * tile;
      const float* second = first + (Dot::pack - 1) * tile;
      for (std::int64_t query = 0; query < tile; ++query) {
        const float low = exp_of((first[query] - largest[query]) * scale);
        const float high = Dot::pack == 1 ? 0.0F : exp_of((second[query] - largest[query]) * scale);
        sum[query] += low + high;
        probabilities[key / Dot::pack * tile + query] = Dot::word(low, high);
      }
    }
  }
};

template <class T, class Dot>
void attention_forward(const AttentionHeadForward<T>& a) {
  using Word = typename Dot::Word;
  const AttentionHead<T>& head = a.head;
  const HeadExtents<Dot> extents(head.seq_len, head.head_dim);
  constexpr std::int64_t tile = HeadExtents<Dot>::tile;
  const auto rows = [&](const T* data) {
    return HeadRows<T>{data, head.qkv_stride, head.seq_len, head.head_dim};
  };
  Carver carver{head.workspace};
  Word* key_rows = carver.take<Word>(extents.operand());
  Word* query_columns = carver.take<Word>(extents.operand());
  Word* value_pairs = carver.take<Word>(extents.operand());
  float* scores = carver.take<float>(tile * tile);
  Word* probabilities = carver.take<Word>(tile * tile);
  float* out = carver.take<float>(extents.dim * tile);  // transposed: [channel][query]
  pack_rows(extents, rows(head.k), key_rows);
  pack_transposed(extents, rows(head.q), query_columns);
  pack_tokens(extents, rows(head.v), value_pairs);
  const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(head.head_dim));

  for (std::int64_t query = 0; query < extents.tokens; query += tile) {
    QueryStatistics<tile> statistics;
    for (std::int64_t i = 0; i < extents.dim * tile; ++i) {
      out[i] = 0;
    }
    for (std::int64_t key = 0; key <= query; key += tile) {
      multiply<Dot>(tile, tile, extents.words, {key_rows + key * extents.words, extents.words, 1},
                    query_columns + query, extents.tokens, scores, tile, false);
      if (key == query) {
        mask_diagonal(scores, tile);
      }
      statistics.template absorb<Dot>(scores, scale, probabilities);
      for (std::int64_t channel = 0; channel < extents.dim; ++channel) {
        for (std::int64_t i = 0; i < tile; ++i) {
          out[channel * tile + i] *= statistics.shrink[i];
        }
      }
      multiply<Dot>(extents.dim, tile, tile / Dot::pack,
                    {value_pairs + key / Dot::pack * extents.dim, 1, extents.dim}, probabilities, tile, out,
                    tile, true);
    }
    for (std::int64_t i = 0; i < tile && query + i < head.seq_len; ++i) {
      const float inverse = 1.0F / statistics.sum[i];
      T* to = a.out + (query + i) * head.out_stride;
      for (std::int64_t channel = 0; channel < head.head_dim; ++channel) {
        store(to[channel], out[channel * tile + i] * inverse);
      }
      a.lse[query + i] = statistics.largest[i] * scale + __builtin_logf(statistics.sum[i]);
    }
  }
}

SHARDGPT_VECTOR_END
