#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "hf/binary_writer.hpp"
#include "hf/weight_type.hpp"

namespace shardgpt {

/// A tensor to be written.
struct SafetensorsTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;
};

/// Writes a safetensors file tensor by tensor, in the order given, holding one piece at a time. The header is
/// padded with blanks so that the data starts at a multiple of 8.
class SafetensorsWriter {
 public:
  /// Creates `path`, which must not exist, and writes the header. `metadata` gains "format": "pt", without
  /// which transformers does not open the file.
  SafetensorsWriter(std::filesystem::path path, WeightType type, std::vector<SafetensorsTensor> tensors,
                    const std::map<std::string, std::string>& metadata = {});

  /// Appends elements of the tensor in turn. Throws std::logic_error where they do not fit it.
  void append(const std::string& name, std::span<const float> values);
  /// Checks that every tensor is complete, synchronises and closes.
  void finish();

 private:
  BinaryWriter file_;
  WeightType type_;
  std::vector<SafetensorsTensor> tensors_;
  std::size_t current_ = 0;
  std::int64_t written_ = 0;  ///< elements of the current tensor
};

}  // namespace shardgpt
