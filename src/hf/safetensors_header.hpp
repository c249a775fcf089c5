#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shardgpt {

/// One tensor of a safetensors file. Offsets count from the first byte after the header.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  ///< as in the file: "F32", "U8", ...
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsEntry> entries;  ///< in the order of their bytes
};

/// Longest header that is read, the limit of the format's own library.
inline constexpr std::uint64_t safetensors_header_limit = 100'000'000;

/// Parses and checks the JSON text of a header against the number of data bytes that follow it: known types,
/// shapes and ranges that agree, ranges that follow each other without gap or overlap up to the end, no key
/// twice. Throws InputError naming `where` and the tensor.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(const std::string& json, std::int64_t data_bytes,
                                                         const std::string& where);

}  // namespace shardgpt
