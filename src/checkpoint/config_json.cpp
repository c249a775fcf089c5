#include "checkpoint/config_json.hpp"

#include "core/error.hpp"

namespace shardgpt {
namespace {

/// Calls visit(name, member pointer, decides the tensors) for every field.
template <class Visitor>
void for_each_field(Visitor&& visit) {
  visit("layers", &ModelConfig::layers, true);
  visit("heads", &ModelConfig::heads, true);
  visit("embd", &ModelConfig::embd, true);
  visit("vocab", &ModelConfig::vocab, true);
  visit("positions", &ModelConfig::positions, true);
  visit("layer_norm_epsilon", &ModelConfig::layer_norm_epsilon, true);
  visit("bos_token", &ModelConfig::bos_token, false);
  visit("eos_token", &ModelConfig::eos_token, false);
}

/// Calls visit(name, member pointer of DropoutRates). The fields are absent where the rate is 0: files of
/// before they existed read the same.
template <class Visitor>
void for_each_rate(Visitor&& visit) {
  visit("resid_pdrop", &DropoutRates::residual);
  visit("embd_pdrop", &DropoutRates::embedding);
  visit("attn_pdrop", &DropoutRates::attention);
}

bool has_type(const nlohmann::json& value, const std::int64_t& /*field*/) {
  return value.is_number_integer();
}
bool has_type(const nlohmann::json& value, const double& /*field*/) {
  return value.is_number();
}

}  // namespace

nlohmann::json config_to_json(const ModelConfig& config) {
  nlohmann::json json;
  for_each_field([&](const char* name, auto member, bool /*decides*/) { json[name] = config.*member; });
  for_each_rate([&](const char* name, auto member) {
    if (config.dropout.*member != 0) {
      json[name] = config.dropout.*member;
    }
  });
  return json;
}

ModelConfig config_from_json(const nlohmann::json& json) {
  ModelConfig config;
  SHARDGPT_REQUIRE(json.is_object(), "model configuration: not a JSON object");
  for_each_field([&](const char* name, auto member, bool /*decides*/) {
    SHARDGPT_REQUIRE(json.contains(name), std::string("model configuration: ") + name + " is missing");
    SHARDGPT_REQUIRE(has_type(json[name], config.*member),
                     std::string("model configuration: ") + name + " is " + json[name].dump());
    json[name].get_to(config.*member);
  });
  for_each_rate([&](const char* name, auto member) {
    if (json.contains(name)) {
      SHARDGPT_REQUIRE(json[name].is_number(),
                       std::string("model configuration: ") + name + " is " + json[name].dump());
      json[name].get_to(config.dropout.*member);
    }
  });
  config.validate();
  return config;
}

std::string config_difference(const ModelConfig& found, const ModelConfig& wanted) {
  std::string text;
  for_each_field([&](const char* name, auto member, bool decides) {
    if (decides && found.*member != wanted.*member) {
      text += std::string(text.empty() ? "" : ", ") + name + " is " + nlohmann::json(found.*member).dump() +
              ", wanted " + nlohmann::json(wanted.*member).dump();
    }
  });
  return text;
}

}  // namespace shardgpt
