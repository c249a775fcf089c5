#pragma once

#include <filesystem>
#include <span>

#include "hf/hf_weight_files.hpp"
#include "hf/weight_type.hpp"
#include "model/tensor_table.hpp"

namespace shardgpt {

/// What to do with rows of the embedding above the vocabulary size of config.json.
enum class ExtraVocabRows { refuse, cut };

/// A Hugging Face GPT-2 folder whose config and weights fit each other. Reading is local and by piece, so
/// that any rank can fetch any part.
class HfModel {
 public:
  /// Checks all but the values. Throws InputError that lists missing and unknown tensors by name.
  explicit HfModel(const std::filesystem::path& folder, ExtraVocabRows extra_rows = ExtraVocabRows::refuse);

  [[nodiscard]] const TensorTable& table() const { return table_; }
  [[nodiscard]] const ModelConfig& config() const { return table_.config(); }

  /// Element type in which the folder stores a tensor of the table.
  [[nodiscard]] WeightType type_of(const TensorSpec& tensor) const;
  /// Elements [begin, begin + values.size()) of a tensor of the table.
  void read(const TensorSpec& tensor, std::int64_t begin, std::span<float> values) const;
  /// Elements [begin, begin + values.size()) of a unit's flat buffer; those past its end become zero.
  void read_unit_piece(std::int64_t unit, std::int64_t begin, std::span<float> values) const;

 private:
  void tie_head();
  void check_names() const;
  void check_tensor(const TensorSpec& tensor, ExtraVocabRows extra_rows) const;

  std::filesystem::path folder_;
  TensorTable table_;
  HfWeightFiles files_;
  std::map<std::string, HfTensor> tensors_;
};

}  // namespace shardgpt
