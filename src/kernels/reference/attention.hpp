#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/ops.hpp"
#include "kernels/reference/element.hpp"

namespace shardgpt::reference {

/// One head of one sequence: where its rows of q, k, v and of the output lie.
struct HeadView {
  std::int64_t seq_len = 0;
  std::int64_t channels = 0;  ///< C, of all heads together
  std::int64_t head_dim = 0;
  std::int64_t first_token = 0;  ///< row of the sequence's first token
  std::int64_t first_column = 0;

  [[nodiscard]] std::int64_t qkv(std::int64_t t, std::int64_t which) const {
    return ((first_token + t) * 3 + which) * channels + first_column;
  }
  [[nodiscard]] std::int64_t out(std::int64_t t) const { return (first_token + t) * channels + first_column; }
};

/// Calls `visit(view, first index into lse)` for each (sequence, head).
template <class Visit>
void for_each_head(BatchShape shape, std::int64_t heads, std::int64_t channels, Visit&& visit) {
  const std::int64_t head_dim = channels / heads;
  for (std::int64_t b = 0; b < shape.rows; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      visit(HeadView{shape.seq_len, channels, head_dim, b * shape.seq_len, h * head_dim},
            (b * heads + h) * shape.seq_len);
    }
  }
}

template <class A, class B>
[[nodiscard]] double dot(const A* a, const B* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    sum += load(a[i]) * load(b[i]);
  }
  return sum;
}

/// sum[i] += factor * values[i]
template <class T>
void add_scaled(double* sum, double factor, const T* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    sum[i] += factor * load(values[i]);
  }
}

/// Ops::attention_forward.
template <class T>
void attention_forward(BatchShape shape, std::int64_t heads, std::int64_t channels, const T* qkv, T* out,
                       Wide<T>* lse) {
  const std::int64_t dim = channels / heads;
  const double scale = 1.0 / std::sqrt(static_cast<double>(dim));
  std::vector<double> scores(static_cast<std::size_t>(shape.seq_len));
  std::vector<double> sums(static_cast<std::size_t>(dim));
  for_each_head(shape, heads, channels, [&](const HeadView& head, std::int64_t first_lse) {
    for (std::int64_t t = 0; t < shape.seq_len; ++t) {
      for (std::int64_t u = 0; u <= t; ++u) {
        scores.data()[u] = scale * dot(qkv + head.qkv(t, 0), qkv + head.qkv(u, 1), dim);
      }
      const double largest = *std::max_element(scores.data(), scores.data() + t + 1);
      std::fill(sums.begin(), sums.end(), 0.0);
      double denominator = 0;
      for (std::int64_t u = 0; u <= t; ++u) {
        const double weight = std::exp(scores.data()[u] - largest);
        denominator += weight;
        add_scaled(sums.data(), weight, qkv + head.qkv(u, 2), dim);
      }
      std::transform(sums.begin(), sums.end(), out + head.out(t),
                     [=](double sum) { return store<T>(sum / denominator); });
      lse[first_lse + t] = static_cast<Wide<T>>(largest + std::log(denominator));
    }
  });
}

/// Ops::attention_backward.
template <class T>
void attention_backward(BatchShape shape, std::int64_t heads, std::int64_t channels, const T* qkv,
                        const T* out, const Wide<T>* lse, const T* dout, T* dqkv) {
  const std::int64_t dim = channels / heads;
  const double scale = 1.0 / std::sqrt(static_cast<double>(dim));
  const auto size = static_cast<std::size_t>(shape.seq_len * dim);
  std::vector<double> dq(size);
  std::vector<double> dk(size);
  std::vector<double> dv(size);
  for_each_head(shape, heads, channels, [&](const HeadView& head, std::int64_t first_lse) {
    std::fill(dq.begin(), dq.end(), 0.0);
    std::fill(dk.begin(), dk.end(), 0.0);
    std::fill(dv.begin(), dv.end(), 0.0);
    for (std::int64_t t = 0; t < shape.seq_len; ++t) {
      const T* q = qkv + head.qkv(t, 0);
      const T* gradient = dout + head.out(t);
      const double mean = dot(gradient, out + head.out(t), dim);  // of d(loss)/d(probability)
      for (std::int64_t u = 0; u <= t; ++u) {
        const T* k = qkv + head.qkv(u, 1);
        const double probability = std::exp(scale * dot(q, k, dim) - load(lse[first_lse + t]));
        const double dprobability = dot(gradient, qkv + head.qkv(u, 2), dim);
        const double dscore = scale * probability * (dprobability - mean);
        add_scaled(dv.data() + u * dim, probability, gradient, dim);
        add_scaled(dq.data() + t * dim, dscore, k, dim);
        add_scaled(dk.data() + u * dim, dscore, q, dim);
      }
    }
    for (std::int64_t t = 0; t < shape.seq_len; ++t) {
      std::transform(dq.data() + t * dim, dq.data() + (t + 1) * dim, dqkv + head.qkv(t, 0), store<T>);
      std::transform(dk.data() + t * dim, dk.data() + (t + 1) * dim, dqkv + head.qkv(t, 1), store<T>);
      std::transform(dv.data() + t * dim, dv.data() + (t + 1) * dim, dqkv + head.qkv(t, 2), store<T>);
    }
  });
}

}  // namespace shardgpt::reference
