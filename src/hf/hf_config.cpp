#include "hf/hf_config.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "core/error.hpp"
#include "core/log.hpp"
#include "hf/strict_json.hpp"

namespace shardgpt {
namespace {

/// Reads fields of one config.json.
class HfFields {
 public:
  HfFields(const nlohmann::json& json, std::string where) : json_(json), where_(std::move(where)) {}

  [[nodiscard]] bool has(const std::string& name) const {
    return json_.contains(name) && !json_[name].is_null();
  }
  [[nodiscard]] const nlohmann::json& at(const std::string& name) const { return json_[name]; }

  [[nodiscard]] std::int64_t integer(const std::string& name) const {
    const nlohmann::json& value = json_[name];
    SHARDGPT_REQUIRE(value.is_number_integer(), text(name) + ", wanted an integer");
    return value.get<std::int64_t>();
  }

  /// The value that all names present agree on.
  [[nodiscard]] std::int64_t size(std::span<const char* const> names) const {
    const char* chosen = nullptr;
    for (const char* name : names) {
      if (!has(name)) {
        continue;
      }
      SHARDGPT_REQUIRE(chosen == nullptr || integer(chosen) == integer(name),
                       text(name) + ", but " + chosen + " is " + brief(at(chosen)));
      chosen = chosen == nullptr ? name : chosen;
    }
    SHARDGPT_REQUIRE(chosen != nullptr, where_ + ": " + names[0] + " is missing");
    return integer(chosen);
  }

  /// Refuses every value of `name` but those in `allowed`, absent and null.
  void require(const std::string& name, std::initializer_list<nlohmann::json> allowed,
               const std::string& reason) const {
    const bool fits = !has(name) || std::ranges::find(allowed, at(name)) != allowed.end();
    SHARDGPT_REQUIRE(fits, text(name) + ": " + reason);
  }

  /// "FILE: NAME is VALUE"
  [[nodiscard]] std::string text(const std::string& name) const {
    return where_ + ": " + name + " is " + brief(json_[name]);
  }
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  const nlohmann::json& json_;
  std::string where_;
};

std::int64_t read_positions(const HfFields& fields) {
  constexpr std::array names = {"n_positions", "max_position_embeddings"};
  const bool named = std::ranges::any_of(names, [&](const char* name) { return fields.has(name); });
  if (!named) {
    constexpr std::array old_name = {"n_ctx"};
    SHARDGPT_REQUIRE(fields.has("n_ctx"), fields.where() + ": n_positions is missing");
    return fields.size(old_name);
  }
  const std::int64_t positions = fields.size(names);
  if (fields.has("n_ctx") && fields.integer("n_ctx") != positions) {
    log_warning(fields.text("n_ctx") + ", but n_positions is " + std::to_string(positions) +
                ": n_positions is taken");
  }
  return positions;
}

std::int64_t read_token(const HfFields& fields, const char* name, std::int64_t vocab) {
  constexpr std::int64_t gpt2_end_of_text = 50256;
  return fields.has(name) ? fields.integer(name) : std::min(gpt2_end_of_text, vocab - 1);
}

/// Where the field is absent transformers drops out 0.1.
double read_dropout(const HfFields& fields, const char* name) {
  constexpr double absent = 0.1;
  if (!fields.has(name)) {
    return absent;
  }
  SHARDGPT_REQUIRE(fields.at(name).is_number(), fields.text(name) + ", wanted a number");
  return fields.at(name).get<double>();
}

void require_gpt2(const nlohmann::json& json, const HfFields& fields) {
  if (fields.has("model_type")) {
    fields.require("model_type", {"gpt2"}, "only gpt2 is supported");
  } else {
    const nlohmann::json architectures = json.value("architectures", nlohmann::json::array());
    SHARDGPT_REQUIRE(architectures == nlohmann::json({"GPT2LMHeadModel"}),
                     fields.where() + ": model_type is missing, wanted \"gpt2\"");
  }
}

/// What this program does not compute.
void require_supported(const HfFields& fields, std::int64_t width) {
  fields.require("activation_function", {"gelu_new", "gelu_pytorch_tanh"},
                 "only gelu_new (the tanh form) is supported");
  fields.require("n_inner", {4 * width},
                 "only four times n_embd (" + std::to_string(4 * width) + ") is supported");
  fields.require("scale_attn_weights", {true}, "unscaled attention is not supported");
  fields.require("scale_attn_by_inverse_layer_idx", {false}, "not supported");
  fields.require("reorder_and_upcast_attn", {false}, "not supported");
  fields.require("add_cross_attention", {false}, "not supported");
  fields.require("tie_word_embeddings", {true}, "an output head of its own is not supported");
  SHARDGPT_REQUIRE(!fields.has("quantization_config"),
                   fields.where() + ": quantization_config: quantized weights are not supported");
}

}  // namespace

ModelConfig model_config_from_hf(const nlohmann::json& json, const std::string& where) {
  const HfFields fields(json, where);
  require_gpt2(json, fields);
  ModelConfig config;
  constexpr std::array layers = {"n_layer", "num_hidden_layers"};
  constexpr std::array heads = {"n_head", "num_attention_heads"};
  constexpr std::array width = {"n_embd", "hidden_size"};
  constexpr std::array vocab = {"vocab_size"};
  config.layers = fields.size(layers);
  config.heads = fields.size(heads);
  config.embd = fields.size(width);
  config.vocab = fields.size(vocab);
  config.positions = read_positions(fields);
  if (fields.has("layer_norm_epsilon")) {
    SHARDGPT_REQUIRE(fields.at("layer_norm_epsilon").is_number(),
                     fields.text("layer_norm_epsilon") + ", wanted a number");
    config.layer_norm_epsilon = fields.at("layer_norm_epsilon").get<double>();
  }
  config.bos_token = read_token(fields, "bos_token_id", config.vocab);
  config.eos_token = read_token(fields, "eos_token_id", config.vocab);
  config.dropout = {read_dropout(fields, "resid_pdrop"), read_dropout(fields, "embd_pdrop"),
                    read_dropout(fields, "attn_pdrop")};
  try {
    config.validate();
  } catch (const InputError& error) {
    throw InputError(where + ": " + error.what());
  }
  require_supported(fields, config.embd);
  return config;
}

nlohmann::ordered_json hf_config_json(const ModelConfig& config, WeightType type) {
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"vocab_size", config.vocab},
          {"n_positions", config.positions},
          {"n_ctx", config.positions},
          {"n_embd", config.embd},
          {"n_layer", config.layers},
          {"n_head", config.heads},
          {"n_inner", nullptr},
          {"activation_function", "gelu_new"},
          {"layer_norm_epsilon", config.layer_norm_epsilon},
          {"initializer_range", 0.02},
          {"resid_pdrop", config.dropout.residual},
          {"embd_pdrop", config.dropout.embedding},
          {"attn_pdrop", config.dropout.attention},
          {"scale_attn_weights", true},
          {"scale_attn_by_inverse_layer_idx", false},
          {"reorder_and_upcast_attn", false},
          {"tie_word_embeddings", true},
          {"use_cache", true},
          {"bos_token_id", config.bos_token},
          {"eos_token_id", config.eos_token},
          {"torch_dtype", torch_name(type)}};
}

nlohmann::ordered_json hf_generation_json(const ModelConfig& config) {
  return {
      {"_from_model_config", true}, {"bos_token_id", config.bos_token}, {"eos_token_id", config.eos_token}};
}

}  // namespace shardgpt
