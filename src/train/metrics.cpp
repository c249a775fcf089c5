#include "train/metrics.hpp"

#include <cmath>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/atomic_file.hpp"
#include "core/error.hpp"

namespace shardgpt {
namespace {

/// JSON has no NaN: such a number is written as null.
nlohmann::json number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

/// The lines of the rows up to `last_step`; says whether that step has a validation row.
std::string rows_up_to(const std::filesystem::path& file, std::int64_t last_step, bool& validated) {
  std::string kept;
  if (!std::filesystem::exists(file)) {
    return kept;
  }
  std::istringstream lines(read_text_file(file));
  for (std::string line; std::getline(lines, line);) {
    const auto row = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (row.is_object() && row.contains("step") && row["step"].is_number_integer() &&
        row["step"] <= last_step) {
      kept += line + "\n";
      validated = validated || (row["step"] == last_step && row.contains("val_loss"));
    }
  }
  return kept;
}

}  // namespace

MetricsWriter::MetricsWriter(std::filesystem::path file, std::int64_t last_step) : path_(std::move(file)) {
  write_file_atomically(path_, rows_up_to(path_, last_step, last_step_validated_));
  file_.open(path_, std::ios::app);
  if (!file_) {
    throw Error("cannot open " + path_.string() + " for writing");
  }
}

void MetricsWriter::training(const TrainingRow& row) {
  write(nlohmann::ordered_json{{"step", row.step},
                               {"loss", number(row.loss)},
                               {"grad_norm", number(row.grad_norm)},
                               {"lr", row.lr},
                               {"tokens", row.tokens},
                               {"tokens_per_s", number(row.tokens_per_s)},
                               {"skipped", row.skipped}}
            .dump());
}

void MetricsWriter::validation(std::int64_t step, double loss) {
  write(nlohmann::ordered_json{{"step", step}, {"val_loss", number(loss)}}.dump());
}

void MetricsWriter::write(const std::string& line) {
  file_ << line << '\n' << std::flush;
  if (!file_) {
    throw Error("cannot write " + path_.string() + ": is the disk full?");
  }
}

}  // namespace shardgpt
