#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoints/weight_source.hpp"

namespace shardgpt {

/// How far the logits of two models are apart.
struct LogitDifference {
  double largest = 0;         ///< of |a - b|; infinite where one is not finite and the other is
  std::int64_t position = 0;  ///< of the largest: token of the sequence
  std::int64_t token = 0;     ///< and id of the logit
  double largest_logit = 0;   ///< of |a|, for a feeling of scale
};

/// The logits of a sequence of `tokens` ids, fixed for a vocabulary, by the forward pass of both models.
/// Weights of `a` are first rounded to the type in which `b` stores the tensor, so that rounding of an export
/// is no difference. Their configurations must agree (config_difference). `tokens` at least 1, at most
/// `positions`.
[[nodiscard]] LogitDifference compare_logits(const WeightSource& a, const WeightSource& b,
                                             std::int64_t tokens);

/// One line for each tensor whose values differ after that rounding, naming the largest difference, and
/// whether a square matrix is the other's transpose. Holds one tensor.
[[nodiscard]] std::vector<std::string> differing_tensors(const WeightSource& a, const WeightSource& b);

}  // namespace shardgpt
