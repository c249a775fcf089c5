#pragma once

#include "kernels/cpu/vector/attention.hpp"

SHARDGPT_VECTOR_BEGIN

/// Turns score and probability-gradient tiles [key][query] into probabilities and score gradients.
template <std::int64_t tile>
void differentiate_softmax(float* scores, float* gradients, const float* lse, const float* mean, float scale,
                           bool diagonal) {
  for (std::int64_t key = 0; key < tile; ++key) {
    float* score = scores + key * tile;
    float* gradient = gradients + key * tile;
    for (std::int64_t query = 0; query < tile; ++query) {
      const float probability = exp_of(score[query] * scale - lse[query]);
      score[query] = probability;
      gradient[query] = probability * (gradient[query] - mean[query]) * scale;
    }
    for (std::int64_t query = 0; diagonal && query < key; ++query) {
      score[query] = 0;
      gradient[query] = 0;
    }
  }
}

/// The packed forms that the products of the backward pass read, and the statistics of each query.
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
    Word** const all[] = {&key_rows,    &key_pairs,    &value_rows, &query_columns,
                          &query_pairs, &dout_columns, &dout_pairs};
    for (Word** operand : all) {
      *operand = carver.take<Word>(extents.operand());
    }
    Word* rows = carver.take<Word>(extents.operand());
    const HeadRows<T> queries{head.q, head.qkv_stride};
    const HeadRows<T> keys{head.k, head.qkv_stride};
    const HeadRows<T> douts{a.dout, head.out_stride};
    pack_rows(extents, keys, key_rows);
    pack_tokens(extents, keys, key_pairs);
    pack_rows(extents, HeadRows<T>{head.v, head.qkv_stride}, value_rows);
    pack_rows(extents, queries, rows);
    transpose_rows(extents, rows, query_columns);
    pack_tokens(extents, queries, query_pairs);
    pack_rows(extents, douts, rows);
    transpose_rows(extents, rows, dout_columns);
    pack_tokens(extents, douts, dout_pairs);
    lse = carver.take<float>(extents.tokens);
    mean = carver.take<float>(extents.tokens);
    for (std::int64_t token = 0; token < extents.tokens; ++token) {
      const bool padding = token >= head.seq_len;
      lse[token] = padding ? 0.0F : a.lse[token];
      const T* out = a.out + token * head.out_stride;
      const T* dout = a.dout + token * head.out_stride;
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t channel = 0; channel < (padding ? 0 : head.head_dim); ++channel) {
        sum += load(out[channel]) * load(dout[channel]);
      }
      mean[token] = sum;
    }
  }
};

/// rows x channels of float sums, stored as T.
template <class T>
void store_rows(std::int64_t rows, std::int64_t channels, const float* values, std::int64_t stride, T* to,
                std::int64_t to_stride) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      store(to[row * to_stride + channel], values[row * stride + channel]);
    }
  }
}

template <class T, class Dot>
void attention_backward(const AttentionHeadBackward<T>& a) {
  using Word = typename Dot::Word;
  const AttentionHead<T>& head = a.head;
  const HeadExtents<Dot> extents(head.seq_len, head.head_dim);
  constexpr std::int64_t tile = HeadExtents<Dot>::tile;
  constexpr std::int64_t tile_words = tile / Dot::pack;
  const std::int64_t dim = extents.dim;
  const std::int64_t words = extents.words;
  Carver carver{head.workspace};
  const BackwardOperands<T, Dot> operands(a, extents, carver);
  float* dq = carver.take<float>(extents.tokens * dim);
  float* dk = carver.take<float>(tile * dim);
  float* dv = carver.take<float>(tile * dim);
  float* probabilities = carver.take<float>(tile * tile);
  float* gradients = carver.take<float>(tile * tile);
  Word* probability_rows = carver.take<Word>(tile * tile);
  Word* gradient_rows = carver.take<Word>(tile * tile);
  Word* gradient_pairs = carver.take<Word>(tile * tile);
  const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(head.head_dim));

  for (std::int64_t key = 0; key < extents.tokens; key += tile) {
    for (std::int64_t query = key; query < extents.tokens; query += tile) {
      multiply<Dot>(tile, tile, words, {operands.key_rows + key * words, words, 1},
                    operands.query_columns + query, extents.tokens, probabilities, tile, false);
      multiply<Dot>(tile, tile, words, {operands.value_rows + key * words, words, 1},
                    operands.dout_columns + query, extents.tokens, gradients, tile, false);
      differentiate_softmax<tile>(probabilities, gradients, operands.lse + query, operands.mean + query,
                                  scale, query == key);
      Dot::pack_row(tile * tile, probabilities, probability_rows);
      Dot::pack_row(tile * tile, gradients, gradient_rows);
      pack_keys<Dot, tile>(gradients, gradient_pairs);
      const std::int64_t query_pair = query / Dot::pack * dim;
      multiply<Dot>(tile, dim, tile_words, {probability_rows, tile_words, 1},
                    operands.dout_pairs + query_pair, dim, dv, dim, query != key);
      multiply<Dot>(tile, dim, tile_words, {gradient_rows, tile_words, 1}, operands.query_pairs + query_pair,
                    dim, dk, dim, query != key);
      multiply<Dot>(tile, dim, tile_words, {gradient_pairs, 1, tile},
                    operands.key_pairs + key / Dot::pack * dim, dim, dq + query * dim, dim, key != 0);
    }
    const std::int64_t left = head.seq_len - key;
    const std::int64_t rows = left < tile ? left : tile;
    store_rows(rows, head.head_dim, dk, dim, a.dk + key * head.qkv_stride, head.qkv_stride);
    store_rows(rows, head.head_dim, dv, dim, a.dv + key * head.qkv_stride, head.qkv_stride);
  }
  store_rows(head.seq_len, head.head_dim, dq, dim, a.dq, head.qkv_stride);
}

SHARDGPT_VECTOR_END
