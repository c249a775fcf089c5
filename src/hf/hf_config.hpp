#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "hf/weight_type.hpp"
#include "model/model_config.hpp"

namespace shardgpt {

/// The model of a Hugging Face config.json. Accepts the field aliases of newer files; n_positions rules over
/// n_ctx. Throws InputError naming `where` and the field for anything that is not plain GPT-2 with a tied
/// head: such a model would load and compute something else. Where a token id is absent or null it is the
/// last one of the vocabulary, at most 50256; where a dropout rate is absent it is transformers' default,
/// 0.1.
[[nodiscard]] ModelConfig model_config_from_hf(const nlohmann::json& json, const std::string& where);

/// config.json and generation_config.json as GPT2LMHeadModel wants them.
[[nodiscard]] nlohmann::ordered_json hf_config_json(const ModelConfig& config, WeightType type);
[[nodiscard]] nlohmann::ordered_json hf_generation_json(const ModelConfig& config);

}  // namespace shardgpt
