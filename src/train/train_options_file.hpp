#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace shardgpt {

/// Reads --config for CLI11, whose own reader takes the last of two equal keys or of a list without a word,
/// and says neither file nor line. `app` has to outlive it.
class TrainOptionsFile final : public CLI::Config {
 public:
  explicit TrainOptionsFile(const CLI::App& app) : app_(app) {}

  /// Not used: run.json records the options.
  std::string to_config(const CLI::App* app, bool default_also, bool write_description,
                        std::string prefix) const override;
  /// Throws InputError naming file, line and key.
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

  /// `message`, and where the options that it names stand in the file.
  [[nodiscard]] std::string with_places(const std::string& message) const;

 private:
  const CLI::App& app_;
  mutable std::map<std::string, std::string> places_;  ///< flag -> FILE:LINE; from_config() has to be const
};

}  // namespace shardgpt
