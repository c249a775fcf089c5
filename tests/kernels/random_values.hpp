#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/philox.hpp"

namespace shardgpt::test {

/// Normal numbers with deviation `scale`; each `stream` gives others.
inline std::vector<double> random_values(std::int64_t count, std::uint32_t stream, double scale = 1.0) {
  const RandomStream random(42, RandomPurpose::test, stream);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = scale * random.normal(i);
  }
  return values;
}

/// Token ids in [0, vocab).
inline std::vector<std::int32_t> random_tokens(std::int64_t count, std::int64_t vocab, std::uint32_t stream) {
  const RandomStream random(42, RandomPurpose::test, stream);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<std::int32_t>(random.uniform(i) * static_cast<double>(vocab));
  }
  return tokens;
}

/// |a - b| / |b| in the Euclidean norm; |a - b| where b is zero. NaN where either holds one.
template <class A, class B>
double relative_difference(const A& a, const B& b) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const auto wanted = static_cast<double>(b[i]);
    const double delta = static_cast<double>(a[i]) - wanted;
    difference += delta * delta;
    size += wanted * wanted;
  }
  return std::sqrt(size > 0 ? difference / size : difference);
}

}  // namespace shardgpt::test
