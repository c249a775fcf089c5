#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "model/model_config.hpp"

namespace shardgpt {

/// The model's configuration as /config holds it: the field names of ModelConfig, and Hugging Face's names of
/// the dropout rates that are not 0.
[[nodiscard]] nlohmann::json config_to_json(const ModelConfig& config);

/// Throws InputError naming the missing or mistyped field; the result is valid.
[[nodiscard]] ModelConfig config_from_json(const nlohmann::json& json);

/// What differs between two models such that weights of one are not weights of the other ("embd is 8, wanted
/// 16"); empty where nothing does. Token ids and dropout may differ.
[[nodiscard]] std::string config_difference(const ModelConfig& found, const ModelConfig& wanted);

}  // namespace shardgpt
