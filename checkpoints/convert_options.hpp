#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "hf/weight_type.hpp"

namespace shardgpt {

/// Hugging Face's own default for the size of one weight file.
inline constexpr std::uint64_t default_part_bytes = 5'000'000'000;

struct ExportOptions {
  std::filesystem::path checkpoint;  ///< a file, or a run folder: then its newest
  std::filesystem::path output;
  WeightType dtype = WeightType::f32;
  std::filesystem::path tokenizer;  ///< folder with vocab.json and merges.txt; empty: none
  std::uint64_t max_part_bytes = default_part_bytes;
  bool overwrite = false;
};

struct ImportOptions {
  std::filesystem::path source;
  std::filesystem::path output;
  bool overwrite = false;
};

struct ImportHfOptions : ImportOptions {
  bool cut_vocab = false;
};

struct ExportLlmcOptions {
  std::filesystem::path checkpoint;
  std::filesystem::path output;
  WeightType dtype = WeightType::f32;  ///< f32 or bf16
  bool overwrite = false;
};

struct MergeOptions {
  std::filesystem::path checkpoint;
  std::filesystem::path output;
  bool optimizer = false;  ///< the moments too
  bool overwrite = false;
};

struct InspectOptions {
  std::filesystem::path model;  ///< checkpoint, run folder, Hugging Face folder or model file of llm.c
  bool quick = false;           ///< read no values
  bool json = false;
};

/// Logits of the same weights, computed twice, are equal; this is for weights that went through another
/// program.
inline constexpr double default_logit_limit = 1e-4;

struct VerifyOptions {
  std::filesystem::path checkpoint;
  std::filesystem::path against;  ///< what inspect takes; empty: checksums only
  std::int64_t tokens = 16;  ///< of the sequence whose logits are compared, at most the model's positions
  double limit = default_logit_limit;
};

}  // namespace shardgpt
