#pragma once

#include "kernels/cpu/vector/attention_pack.hpp"

// Causal attention of one head in tiles of 64 queries x 64 keys that stay in the first-level cache. Score
// tiles are kept transposed, [key][query]: maxima and sums of a query are then vertical vector operations.
// Probabilities and score gradients are rounded to the words of `Dot` (bf16 pairs, or float) for the products
// that take them; sums are float.

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

/// Floats that either direction needs; backward is the larger: eight operands, dq, dk and dv of a tile, score
/// tiles.
template <class Dot>
std::int64_t attention_workspace(std::int64_t seq_len, std::int64_t head_dim) {
  const HeadExtents<Dot> extents(seq_len, head_dim);
  constexpr std::int64_t tile = HeadExtents<Dot>::tile;
  return 8 * extents.operand() + extents.dim * extents.tokens + 2 * tile * extents.dim + 5 * tile * tile +
         2 * extents.tokens;
}

/// Scores that lie in the future of their query become -inf; only the tile on the diagonal has any.
template <std::int64_t tile>
void mask_diagonal(float* scores) {
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

  /// Turns a score tile into probabilities relative to the new maxima.
  void absorb(float* scores, float scale) {
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
    for (std::int64_t key = 0; key < tile; ++key) {
      for (std::int64_t query = 0; query < tile; ++query) {
        const float probability = exp_of((scores[key * tile + query] - largest[query]) * scale);
        scores[key * tile + query] = probability;
        sum[query] += probability;
      }
    }
  }
};

/// A tile [key][query] as words over neighbouring keys.
template <class Dot, std::int64_t tile>
void pack_keys(const float* values, typename Dot::Word* to) {
  for (std::int64_t key = 0; key < tile; key += Dot::pack) {
    const float* first = values + key * tile;
    Dot::pack_pairs(tile, first, first + (Dot::pack - 1) * tile, to + key / Dot::pack * tile);
  }
}

template <class T, class Dot>
void attention_forward(const AttentionHeadForward<T>& a) {
  using Word = typename Dot::Word;
  const AttentionHead<T>& head = a.head;
  const HeadExtents<Dot> extents(head.seq_len, head.head_dim);
  constexpr std::int64_t tile = HeadExtents<Dot>::tile;
  Carver carver{head.workspace};
  Word* key_rows = carver.take<Word>(extents.operand());
  Word* query_rows = carver.take<Word>(extents.operand());
  Word* query_columns = carver.take<Word>(extents.operand());
  Word* value_pairs = carver.take<Word>(extents.operand());
  float* scores = carver.take<float>(tile * tile);
  Word* probabilities = carver.take<Word>(tile * tile);
  float* out = carver.take<float>(tile * extents.dim);
  pack_rows(extents, HeadRows<T>{head.k, head.qkv_stride}, key_rows);
  pack_rows(extents, HeadRows<T>{head.q, head.qkv_stride}, query_rows);
  transpose_rows(extents, query_rows, query_columns);
  pack_tokens(extents, HeadRows<T>{head.v, head.qkv_stride}, value_pairs);
  const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(head.head_dim));

  for (std::int64_t query = 0; query < extents.tokens; query += tile) {
    QueryStatistics<tile> statistics;
    for (std::int64_t key = 0; key <= query; key += tile) {
      multiply<Dot>(tile, tile, extents.words, {key_rows + key * extents.words, extents.words, 1},
                    query_columns + query, extents.tokens, scores, tile, false);
      if (key == query) {
        mask_diagonal<tile>(scores);
      }
      statistics.absorb(scores, scale);
      pack_keys<Dot, tile>(scores, probabilities);
      for (std::int64_t i = 0; key != 0 && i < tile; ++i) {
        for (std::int64_t channel = 0; channel < extents.dim; ++channel) {
          out[i * extents.dim + channel] *= statistics.shrink[i];
        }
      }
      multiply<Dot>(tile, extents.dim, tile / Dot::pack, {probabilities, 1, tile},
                    value_pairs + key / Dot::pack * extents.dim, extents.dim, out, extents.dim, key != 0);
    }
    for (std::int64_t i = 0; i < tile && query + i < head.seq_len; ++i) {
      const float inverse = 1.0F / statistics.sum[i];
      T* to = a.out + (query + i) * head.out_stride;
      for (std::int64_t channel = 0; channel < head.head_dim; ++channel) {
        store(to[channel], out[i * extents.dim + channel] * inverse);
      }
      a.lse[query + i] = statistics.largest[i] * scale + __builtin_logf(statistics.sum[i]);
    }
  }
}

SHARDGPT_VECTOR_END
