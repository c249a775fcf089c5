#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "checkpoints/llmc_format.hpp"
#include "hf/binary_reader.hpp"
#include "model/tensor_table.hpp"

namespace shardgpt {

/// An open model file of llm.c whose header and size have been checked.
class LlmcModel {
 public:
  /// Throws InputError naming the file and what is wrong with it.
  explicit LlmcModel(std::filesystem::path path);

  [[nodiscard]] const std::filesystem::path& path() const { return file_.path(); }
  [[nodiscard]] const TensorTable& table() const { return table_; }
  [[nodiscard]] WeightType type() const { return header_.type; }

  /// Calls consume(values) with consecutive pieces of a tensor in the table's layout; a linear weight comes
  /// as one piece, because it is stored transposed.
  void stream(const TensorSpec& tensor, const std::function<void(std::span<const float>)>& consume) const;

 private:
  BinaryReader file_;
  LlmcHeader header_;
  TensorTable table_;
  std::vector<LlmcTensor> places_;  ///< in table order
  // A linear weight as stored and as given out; kept, because fresh pages for each cost more than the
  // copying.
  mutable std::vector<float> stored_;
  mutable std::vector<float> values_;
};

}  // namespace shardgpt
