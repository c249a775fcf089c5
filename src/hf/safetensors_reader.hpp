#pragma once

#include <filesystem>
#include <span>

#include "hf/binary_reader.hpp"
#include "hf/safetensors_header.hpp"

namespace shardgpt {

/// An open safetensors file whose header has been checked. Reads by copying, so nothing needs alignment.
class SafetensorsReader {
 public:
  /// Throws InputError naming the file and what is wrong with it.
  explicit SafetensorsReader(std::filesystem::path path);

  [[nodiscard]] const std::filesystem::path& path() const { return file_.path(); }
  [[nodiscard]] const SafetensorsHeader& header() const { return header_; }

  /// Elements [begin, begin + values.size()) of `entry` as floats, exactly. The type must be F32, BF16 or
  /// F16.
  void read(const SafetensorsEntry& entry, std::int64_t begin, std::span<float> values) const;

 private:
  BinaryReader file_;
  std::int64_t data_begin_ = 0;
  SafetensorsHeader header_;
};

}  // namespace shardgpt
