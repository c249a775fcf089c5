#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/model_config.hpp"
#include "tokens/batch.hpp"

namespace shardgpt::test {

/// Tensors of a safetensors file by name, as double (F32 and F64 files of the tests' own; no checks to speak
/// of).
using NamedTensors = std::map<std::string, std::vector<double>>;
[[nodiscard]] NamedTensors read_tensors(const std::filesystem::path& path);

/// A small GPT-2 computed in float64 by PyTorch (tests/reference): weights, gradients, an AdamW run.
struct ReferenceCase {
  explicit ReferenceCase(const std::string& name);
  std::filesystem::path folder;
  ModelConfig config;
  nlohmann::json expected;
  NamedTensors model;
  NamedTensors grads;
  NamedTensors final_weights;
  std::int64_t rows = 0;     ///< sequences per step
  std::int64_t seq_len = 0;  ///< T

  /// Rows [first, last) of the global batch of `step`, all tokens as targets.
  [[nodiscard]] Batch batch(std::int64_t step, std::int64_t first, std::int64_t last) const;
};

}  // namespace shardgpt::test
