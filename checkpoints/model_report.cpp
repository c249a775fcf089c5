#include "checkpoints/model_report.hpp"

#include <algorithm>
#include <array>
#include <iomanip>

#include "checkpoint/checkpoint_info.hpp"
#include "checkpoint/config_json.hpp"
#include "checkpoints/number_text.hpp"
#include "checkpoints/run_loss.hpp"
#include "core/error.hpp"

namespace shardgpt {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) {
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  }
  return text;
}

std::uintmax_t bytes_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    return std::filesystem::file_size(path);
  }
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    bytes += entry.is_regular_file() ? entry.file_size() : 0;
  }
  return bytes;
}

std::string model_text(const TensorTable& table) {
  const ModelConfig& config = table.config();
  return std::to_string(config.layers) + " layers, " + std::to_string(config.heads) + " heads, width " +
         std::to_string(config.embd) + ", vocabulary " + std::to_string(config.vocab) + ", " +
         std::to_string(config.positions) + " positions, " + std::to_string(table.parameters()) +
         " parameters";
}

std::string losses_text(const StepLosses& losses) {
  std::string text;
  if (losses.training) {
    text += number_text(*losses.training, 4) + " in training";
  }
  if (losses.validation) {
    text += (text.empty() ? "" : ", ") + number_text(*losses.validation, 4) + " in validation";
  }
  return text.empty() ? "unknown (the run's metrics.jsonl does not have it)" : text;
}

/// A line "name  value"; nothing where the state has no such field.
void print_field(std::ostream& out, const char* label, const nlohmann::json& state, const char* name) {
  if (state.contains(name)) {
    out << std::left << std::setw(12) << label << state[name].dump() << '\n';
  }
}

nlohmann::ordered_json optional_number(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

ModelReport::ModelReport(const std::filesystem::path& path, ReadValues read_values)
    : format_(model_format_of(path)), read_values_(read_values), source_(open_weight_source(path)) {
  if (format_ == ModelFormat::checkpoint) {
    const CheckpointInfo info = read_checkpoint_info(source_->path());
    state_ = info.state;
    bytes_ = stored_bytes(info);
    layout_ = info.parts.in_one_file() ? "one file"
                                       : "index and " + std::to_string(info.parts.files.size()) + " part(s)";
  } else {
    bytes_ = bytes_of(source_->path());
  }
  for (const TensorSpec& tensor : source_->table().tensors()) {
    tensors_.push_back({&tensor, source_->type_of(tensor), {}, {}});
  }
  if (read_values_ == ReadValues::yes) {
    this->read_values();
  }
}

void ModelReport::read_values() {
  for (TensorReport& report : tensors_) {
    try {
      source_->stream(*report.tensor, [&](std::span<const float> values) { report.statistics.add(values); });
    } catch (const InputError& error) {
      report.problem = error.what();
    }
  }
}

std::string ModelReport::problems() const {
  std::string text;
  for (const TensorReport& report : tensors_) {
    if (!report.problem.empty()) {
      text += (text.empty() ? "" : "; ") + report.problem;
    }
  }
  return text;
}

void ModelReport::print_text(std::ostream& out) const {
  const auto line = [&](const char* label, const auto& value) {
    out << std::left << std::setw(12) << label << value << '\n';
  };
  line("path", source_->path().string());
  line("format", model_format_name(format_));
  if (!layout_.empty()) {
    line("layout", layout_);
  }
  line("bytes", bytes_);
  line("model", model_text(source_->table()));
  if (format_ == ModelFormat::checkpoint) {
    print_field(out, "step", state_, "step");
    print_field(out, "tokens", state_, "tokens");
    line("loss", losses_text(losses_of_checkpoint(source_->path(), state_)));
    print_field(out, "skipped", state_, "skipped");
    print_field(out, "origin", state_, "origin");
    print_field(out, "written by", state_, "version");
  }
  out << '\n';
  print_tensors(out);
}

void ModelReport::print_tensors(std::ostream& out) const {
  std::size_t width = 0;
  for (const TensorReport& report : tensors_) {
    width = std::max(width, report.tensor->name.size());
  }
  const bool values = read_values_ == ReadValues::yes;
  const auto row = [&](const std::string& name, const std::string& type, const std::string& shape,
                       const std::array<std::string, 4>& numbers) {
    out << std::left << std::setw(static_cast<int>(width + 2)) << name << std::setw(6) << type
        << (values ? std::setw(14) : std::setw(0)) << shape << std::right;
    for (const std::string& number : numbers) {
      out << (values ? std::setw(12) : std::setw(0)) << number;
    }
  };
  row("tensor", "type", "shape",
      values ? std::array<std::string, 4>{"mean", "std", "largest", "non-finite"}
             : std::array<std::string, 4>{});
  out << '\n';
  for (const TensorReport& report : tensors_) {
    const TensorStatistics& found = report.statistics;
    row(report.tensor->name, std::string(safetensors_name(report.type)), shape_text(report.tensor->shape),
        values ? std::array{number_text(found.mean(), 4), number_text(found.std_dev(), 4),
                            number_text(found.largest(), 4), std::to_string(found.non_finite())}
               : std::array<std::string, 4>{});
    out << (report.problem.empty() ? "" : "  DAMAGED") << '\n';
  }
}

nlohmann::ordered_json ModelReport::to_json() const {
  nlohmann::ordered_json json = {{"path", source_->path().string()},
                                 {"format", model_format_name(format_)},
                                 {"bytes", bytes_},
                                 {"parameters", source_->table().parameters()},
                                 {"config", config_to_json(source_->table().config())}};
  if (format_ == ModelFormat::checkpoint) {
    json["layout"] = layout_;
    const StepLosses losses = losses_of_checkpoint(source_->path(), state_);
    json["state"] = state_;
    json["loss"] = optional_number(losses.training);
    json["val_loss"] = optional_number(losses.validation);
  }
  json["tensors"] = nlohmann::ordered_json::array();
  for (const TensorReport& report : tensors_) {
    nlohmann::ordered_json row = {{"name", report.tensor->name},
                                  {"shape", report.tensor->shape},
                                  {"dtype", safetensors_name(report.type)}};
    if (read_values_ == ReadValues::yes) {
      row["mean"] = report.statistics.mean();
      row["std"] = report.statistics.std_dev();
      row["largest"] = report.statistics.largest();
      row["non_finite"] = report.statistics.non_finite();
      row["damaged"] = !report.problem.empty();
    }
    json["tensors"].push_back(row);
  }
  return json;
}

}  // namespace shardgpt
