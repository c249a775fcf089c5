#pragma once

#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

namespace shardgpt {

/// Losses at one step.
struct StepLosses {
  std::optional<double> training;
  std::optional<double> validation;
};

/// The losses of the step of a checkpoint: from the run's metrics.jsonl, where the file still lies in the
/// checkpoints/ of its run, otherwise unknown. Lines that do not parse (the last one of a killed run) are
/// skipped.
[[nodiscard]] StepLosses losses_of_checkpoint(const std::filesystem::path& checkpoint,
                                              const nlohmann::json& state);

}  // namespace shardgpt
