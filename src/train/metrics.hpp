#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace shardgpt {

/// One row of RUN/metrics.jsonl for an optimizer step.
struct TrainingRow {
  std::int64_t step = 0;  ///< 1 = the first batch
  double loss = 0;
  double grad_norm = 0;
  double lr = 0;
  std::int64_t tokens = 0;  ///< trained on in the whole run so far, this step included
  double tokens_per_s = 0;
  bool skipped = false;
};

/// Appends to RUN/metrics.jsonl: one JSON object a line, numbers to full precision. One rank only.
class MetricsWriter {
 public:
  /// Keeps the rows of the steps up to `last_step` that stand in the file, drops later and broken ones: after
  /// a resume there is one row per step. Throws Error.
  MetricsWriter(std::filesystem::path file, std::int64_t last_step);
  /// Whether the kept rows hold a validation of their last step.
  [[nodiscard]] bool last_step_validated() const { return last_step_validated_; }
  void training(const TrainingRow& row);
  void validation(std::int64_t step, double loss);

 private:
  void write(const std::string& line);
  std::filesystem::path path_;
  std::ofstream file_;
  bool last_step_validated_ = false;
};

}  // namespace shardgpt
