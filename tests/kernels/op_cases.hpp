#pragma once

#include <string>
#include <vector>

#include "ops_harness.hpp"

namespace shardgpt::test {

/// A model's sizes, small and odd.
struct CaseSizes {
  BatchShape shape{1, 37};
  std::int64_t channels = 48;
  std::int64_t heads = 3;
  std::int64_t vocab = 503;
  std::int64_t padded_vocab = 512;
  std::int64_t extra_columns = 1;  ///< beyond 3 * channels, of a linear layer

  [[nodiscard]] std::int64_t tokens() const { return shape.tokens(); }
  [[nodiscard]] OpsLimits limits() const {
    return {shape.rows, shape.seq_len, channels, heads, padded_vocab};
  }
};

/// What an operation computed, by name; `wide` results are float in both precisions.
struct Result {
  std::string name;
  std::vector<double> values;
  bool wide = false;
};

using OpCase = std::vector<Result> (*)(const Implementation& on, const CaseSizes& sizes);

struct NamedCase {
  const char* name;
  OpCase run;
};

/// Each operation once, on random input that depends on the sizes only.
[[nodiscard]] const std::vector<NamedCase>& op_cases();

}  // namespace shardgpt::test
