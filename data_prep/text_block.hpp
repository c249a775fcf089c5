#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data_prep/input_file.hpp"

namespace shardgpt {

/// A run of bytes of one document within a TextBlock.
struct TextPart {
  std::size_t begin = 0;
  std::size_t size = 0;
  std::int64_t document = 0;  ///< number of the document over all inputs
  bool ends_document = true;  ///< false: the document goes on in a later part, at a place that cuts no piece
  InputFormat format = InputFormat::text;
  std::size_t source = 0;  ///< index of the input
  std::int64_t line = 0;   ///< 1-based, for messages on JSONL
};

/// About a mebibyte of input, to be worked on by one thread. A JSONL part is the line as it stands.
struct TextBlock {
  std::string bytes;
  std::vector<TextPart> parts;

  [[nodiscard]] std::string_view text(const TextPart& part) const {
    return std::string_view(bytes).substr(part.begin, part.size);
  }
};

}  // namespace shardgpt
