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
  bool cut_vocab = false;
  bool overwrite = false;
};

struct MergeOptions {
  std::filesystem::path checkpoint;
  std::filesystem::path output;
  bool optimizer = false;  ///< the moments too
  bool overwrite = false;
};

struct CheckOptions {
  std::filesystem::path checkpoint;
};

}  // namespace shardgpt
