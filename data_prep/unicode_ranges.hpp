#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace shardgpt {

/// Code points from `first` to `last`, both included.
struct CodePointRange {
  std::uint32_t first;
  std::uint32_t last;
};

/// The version of Unicode that the ranges are of: the one that Hugging Face tokenizers and tiktoken go by.
[[nodiscard]] std::string_view unicode_version();

/// General category L.
[[nodiscard]] std::span<const CodePointRange> letter_ranges();

/// General category N.
[[nodiscard]] std::span<const CodePointRange> number_ranges();

}  // namespace shardgpt
