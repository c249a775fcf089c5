#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/error.hpp"
#include "kernels/reference/attention.hpp"
#include "kernels/reference/element.hpp"

namespace shardgpt::reference {

/// Ops::logits.
template <class T>
void logits(std::int64_t rows, std::int64_t channels, const T* in, const T* wte, std::int64_t vocab,
            Wide<T>* result) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t v = 0; v < vocab; ++v) {
      result[row * vocab + v] = static_cast<Wide<T>>(dot(in + row * channels, wte + v * channels, channels));
    }
  }
}

/// Ops::classifier, one token at a time. A null `din` or `dwte` is not computed. Rows of `dwte` from `vocab`
/// on get no gradient and are left alone.
template <class T>
void classifier(std::int64_t rows, std::int64_t channels, const T* in, const T* wte, std::int64_t vocab,
                const std::int32_t* targets, StepSums* sums, T* din, Wide<T>* dwte) {
  std::vector<double> scores(static_cast<std::size_t>(vocab));
  std::vector<double> gradient(static_cast<std::size_t>(channels));
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* features = in + row * channels;
    std::fill(gradient.begin(), gradient.end(), 0.0);
    if (const std::int32_t target = targets[row]; target >= 0) {
      SHARDGPT_EXPECT(target < vocab);
      for (std::int64_t v = 0; v < vocab; ++v) {
        scores.data()[v] = dot(features, wte + v * channels, channels);
      }
      const double largest = *std::max_element(scores.begin(), scores.end());
      double denominator = 0;
      for (const double score : scores) {
        denominator += std::exp(score - largest);
      }
      sums->loss += largest + std::log(denominator) - scores.data()[target];
      sums->targets += 1;
      for (std::int64_t v = 0; v < vocab; ++v) {
        const double dlogit = std::exp(scores.data()[v] - largest) / denominator - (v == target ? 1.0 : 0.0);
        if (din != nullptr) {
          add_scaled(gradient.data(), dlogit, wte + v * channels, channels);
        }
        for (std::int64_t c = 0; dwte != nullptr && c < channels; ++c) {
          Wide<T>& sum = dwte[v * channels + c];
          sum = static_cast<Wide<T>>(load(sum) + dlogit * load(features[c]));
        }
      }
    }
    if (din != nullptr) {
      std::transform(gradient.begin(), gradient.end(), din + row * channels, store<T>);
    }
  }
}

}  // namespace shardgpt::reference
