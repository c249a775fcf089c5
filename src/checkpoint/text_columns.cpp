#include "checkpoint/text_columns.hpp"

#include <algorithm>

#include "checkpoint/checksums.hpp"

namespace shardgpt {

std::size_t text_width(const std::vector<std::string>& texts) {
  std::size_t width = 1;
  for (const std::string& text : texts) {
    width = std::max(width, text.size());
  }
  return width;
}

std::uint32_t crc32_of_texts(const std::vector<std::string>& texts, std::uint32_t start) {
  const std::size_t width = text_width(texts);
  for (const std::string& text : texts) {
    start = crc32_of(text + std::string(width - text.size(), '\0'), start);
  }
  return start;
}

}  // namespace shardgpt
