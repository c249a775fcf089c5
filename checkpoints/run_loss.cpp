#include "checkpoints/run_loss.hpp"

#include <fstream>
#include <string>

namespace shardgpt {
namespace {

void take(const nlohmann::json& row, const char* name, std::optional<double>& value) {
  if (row.contains(name) && row[name].is_number()) {
    value = row[name].get<double>();
  }
}

}  // namespace

StepLosses losses_of_checkpoint(const std::filesystem::path& checkpoint, const nlohmann::json& state) {
  StepLosses losses;
  const auto folder = std::filesystem::absolute(checkpoint).parent_path();
  std::ifstream metrics(folder.parent_path() / "metrics.jsonl");
  if (folder.filename() != "checkpoints" || !metrics || !state.contains("step")) {
    return losses;
  }
  for (std::string line; std::getline(metrics, line);) {
    const nlohmann::json row = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (row.is_object() && row.contains("step") && row["step"] == state["step"]) {
      take(row, "loss", losses.training);
      take(row, "val_loss", losses.validation);
    }
  }
  return losses;
}

}  // namespace shardgpt
