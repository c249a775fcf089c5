#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "checkpoints/tensor_statistics.hpp"
#include "checkpoints/weight_source.hpp"

namespace shardgpt {

/// Whether inspecting reads the tensors' values.
enum class ReadValues { yes, no };

/// One row of the table of tensors.
struct TensorReport {
  const TensorSpec* tensor = nullptr;
  WeightType type = WeightType::f32;
  TensorStatistics statistics;  ///< empty where values are not read
  std::string problem;          ///< what is damaged; empty: nothing
};

/// What a model file or folder holds, for people and for scripts.
class ModelReport {
 public:
  /// Throws InputError where `path` is no model. Reads values piece by piece; a damaged tensor is noted, not
  /// thrown.
  ModelReport(const std::filesystem::path& path, ReadValues read_values);

  [[nodiscard]] const std::vector<TensorReport>& tensors() const { return tensors_; }
  /// The damaged tensors; empty: none.
  [[nodiscard]] std::string problems() const;

  void print_text(std::ostream& out) const;
  /// Numbers that are not finite become null.
  [[nodiscard]] nlohmann::ordered_json to_json() const;

 private:
  void read_values();
  void print_tensors(std::ostream& out) const;

  ModelFormat format_;
  ReadValues read_values_;
  std::unique_ptr<WeightSource> source_;
  std::uintmax_t bytes_ = 0;
  std::string layout_;    ///< of a checkpoint: "one file" or "index and N part(s)"
  nlohmann::json state_;  ///< of a checkpoint; else null
  std::vector<TensorReport> tensors_;
};

}  // namespace shardgpt
