#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardgpt {

/// The width of a dataset of fixed-length strings that holds `texts`, at least 1.
[[nodiscard]] std::size_t text_width(const std::vector<std::string>& texts);

/// CRC-32 of the bytes of such a dataset, padding included, going on from `start`.
[[nodiscard]] std::uint32_t crc32_of_texts(const std::vector<std::string>& texts, std::uint32_t start);

}  // namespace shardgpt
