#pragma once

#include "kernels/cpu/vector/attention.hpp"

SHARDGPT_VECTOR_BEGIN

/// Of one score tile [key][query]: probabilities and score gradients, as words over pairs of queries ("rows",
/// left operands) and, for dq, over pairs of keys.
template <class Word>
struct GradientTile {
  Word* probability_rows = nullptr;
  Word* gradient_rows = nullptr;
  Word* gradient_pairs = nullptr;
};

/// `scores` and `dprobabilities` are overwritten with the probabilities and the score gradients.
template <class Dot, std::int64_t tile>
void differentiate_softmax(float* scores, float* dprobabilities, const float* lse, const float* mean,
                           float scale, bool diagonal, const GradientTile<typename Dot::Word>& result) {
  for (std::int64_t key = 0; key < tile; ++key) {
    float* score = scores + key * tile;
    float* gradient = dprobabilities + key * tile;
    for (std::int64_t query = 0; query < tile; ++query) {
      const float probability = exp_of(score[query] * scale - lse[query]);
      score[query] = probability;
      gradient[query] = probability * (gradient[query] - mean[query]) * scale;
    }
    for (std::int64_t query = 0; diagonal && query < key; ++query) {
      score[query] = 0;
      gradient[query] = 0;
    }
    constexpr std::int64_t words = tile / Dot::pack;
    for (std::int64_t word = 0; word < words; ++word) {
      const std::int64_t query = word * Dot::pack;
      constexpr std::int64_t next = Dot::pack - 1;
      result.probability_rows[key * words + word] = Dot::word(score[query], score[query + next]);
      result.gradient_rows[key * words + word] = Dot::word(gradient[query], gradient[query + next]);
    }
  }
  for (std::int64_t key = 0; key < tile; key += Dot::pack) {
    const float* first = dprobabilities + key * tile;
    const float* second = first + (Dot::pack - 1) * tile;
    for (std::int64_t query = 0; query < tile; ++query) {
      result.gradient_pairs[key / Dot::pack * tile + query] = Dot::word(first[query], second[query]);
    }
  }
}

/// The seven packed forms that the products of the backward pass read, and the statistics of each query.
template <class T, class Dot>
struct BackwardOperands {
  using Word = typename Dot::Word;
  Word* key_rows = nullptr;
  Word* key_pairs = nullptr;
  Word* value_rows = nullptr;
  Word* query_columns = nullptr;
  Word* query_pairs = nullptr;
  Word* dout_columns = nullptr;
  Word* dout_pairs = nullptr;
  float* lse = nullptr;
  float* mean = nullptr;  // sum of out * dout: the mean of the probability gradients

  BackwardOperands(const AttentionHeadBackward<T>& a, const HeadExtents<Dot>& extents, Carver& carver) {
    const AttentionHead<T>& head = a.head;
    const auto rows = [&](const T* data, std::int64_t stride) {
      return HeadRows<T>{data, stride, head.seq_len, head.head_dim};
    };
    Word** const all[] = {&key_rows,    &key_pairs,    &value_rows, &query_columns,
                          &query_pairs, &dout_columns, &dout_pairs};
    for (Word** operand : all) {
      *operand = carver.take<Word>(extents.operand());
    }
    pack_rows(extents, rows(head.k, head.qkv_stride), key_rows);
    pack_tokens(extents, rows(head.k, head.qkv_stride), key_pairs);
    pack_rows(extents, rows(head.v, head.qkv_stride), value_rows);
    pack_transposed(extents, rows(head.q, head.qkv_stride), query_columns);
    pack_tokens(extents, rows(head.q, head.qkv_stride), query_pairs);
    pack_transposed(extents, rows(a.dout, head.out_stride), dout_columns);
    pack_tokens(extents, rows(a.dout, head.out_stride), dout_pairs);
    lse = carver.take<float>(extents.tokens);
    mean = carver.take<float>(extents.tokens);
    for (std::int64_t token = 0; token < extents.tokens; ++token) {
      const bool padding = token >= head.seq_len;
      lse[token] = padding ? 0.0F : a.lse[token];
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t channel = 0; channel < (padding ? 0 : head.head_dim); ++channel) {
        sum +=
            load(a.out[token * head.out_stride + channel]) * load(a.dout[token * head.out_stride + channel]);
      }
      mean[token] = sum;
    }
  }
};

template <class T, class Dot>
void attention_backward(const AttentionHeadBackward<T>& a) {
  using Word = typename Dot::Word;
  const AttentionHead<T>& head = a.head;
  const HeadExtents<Dot> extents(head.seq_len, head.head_dim);
  constexpr std::int64_t tile = HeadExtents<Dot>::tile;
  Carver carver{head.workspace};
  const BackwardOperands<T, Dot> operands(a, extents, carver);
  float* dq = carver.take<float>(extents.dim * extents.tokens);  // transposed: [channel][query]
  float* dk = carver.take<float>(tile * extents.dim);
  float* dv = carver.take<float>(tile * extents.dim);
  float* scores = carver.take<float>(tile * tile);
  float* dprobabilities = carver.take<float>(tile * tile);
  const GradientTile<Word> gradients{carver.take<Word>(tile * tile), carver.take<Word>(tile * tile),
                                     carver.take<Word>(tile * tile)};
  const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(head.head_dim));
  constexpr std::int64_t tile_words = tile / Dot::pack;

  for (std::int64_t key = 0; key < extents.tokens; key += tile) {
    for (std::int64_t query = key; query < extents.tokens; query += tile) {
      multiply<Dot>(tile, tile, extents.words, {operands.key_rows + key * extents.words, extents.words, 1},
                    operands.query_columns + query, extents.tokens, scores, tile, false);
      multiply<Dot>(tile, tile, extents.words, {operands.value_rows + key * extents.words, extents.words, 1},
                    operands.dout_columns + query, extents.tokens, dprobabilities, tile, false);
      differentiate_softmax<Dot, tile>(scores, dprobabilities, operands.lse + query, operands.mean + query,
                                       scale, query == key, gradients);
      const std::int64_t query_row = query / Dot::pack * extents.dim;
      multiply<Dot>(tile, extents.dim, tile_words, {gradients.probability_rows, tile_words, 1},
                    operands.dout_pairs + query_row, extents.dim, dv, extents.dim, query != key);
      multiply<Dot>(tile, extents.dim, tile_words, {gradients.gradient_rows, tile_words, 1},
                    operands.query_pairs + query_row, extents.dim, dk, extents.dim, query != key);
      multiply<Dot>(extents.dim, tile, tile_words,
                    {operands.key_pairs + key / Dot::pack * extents.dim, 1, extents.dim},
                    gradients.gradient_pairs, tile, dq + query, extents.tokens, key != 0);
    }
    for (std::int64_t i = 0; i < tile && key + i < head.seq_len; ++i) {
      const std::int64_t token = (key + i) * head.qkv_stride;
      for (std::int64_t channel = 0; channel < head.head_dim; ++channel) {
        store(a.dk[token + channel], dk[i * extents.dim + channel]);
        store(a.dv[token + channel], dv[i * extents.dim + channel]);
      }
    }
  }
  for (std::int64_t token = 0; token < head.seq_len; ++token) {
    for (std::int64_t channel = 0; channel < head.head_dim; ++channel) {
      store(a.dq[token * head.qkv_stride + channel], dq[channel * extents.tokens + token]);
    }
  }
}

SHARDGPT_VECTOR_END
