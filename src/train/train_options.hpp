#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "train/train_config.hpp"

namespace shardgpt {

/// The outcome of reading the command line: a configuration, a text to print and leave with code 0, or an
/// error.
struct ParseResult {
  TrainConfig config;
  std::string text;   ///< help or version; empty: go on
  std::string error;  ///< one message; empty: fine
};

/// Reads command line and --config file; no MPI, no files but that one. Never throws for wrong input.
[[nodiscard]] ParseResult parse_train_options(int argc, const char* const* argv);

/// Every option by name with its value, for the run manifest, for checkpoints and to compare ranks.
[[nodiscard]] nlohmann::json options_to_json(const TrainConfig& config);

}  // namespace shardgpt
