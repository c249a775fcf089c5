#include <boost/test/unit_test.hpp>

#include "hf/hf_config.hpp"
#include "hf_folder.hpp"

using namespace shardgpt;

namespace {

nlohmann::json plain() {
  return HfFolder().config;
}

std::string error_with(const std::string& name, const nlohmann::json& value) {
  nlohmann::json json = plain();
  json[name] = value;
  return error_of([&] { (void)model_config_from_hf(json, "config.json"); });
}

ModelConfig read(const nlohmann::json& json) {
  return model_config_from_hf(json, "config.json");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hf_config)

BOOST_AUTO_TEST_CASE(what_is_written_is_read_back) {
  ModelConfig config = HfFolder().table.config();
  config.layer_norm_epsilon = 1e-6;
  BOOST_TEST((read(nlohmann::json::parse(hf_config_json(config, WeightType::bf16).dump())) == config));
  BOOST_TEST(hf_config_json(config, WeightType::bf16)["torch_dtype"] == "bfloat16");
  BOOST_TEST(hf_generation_json(config)["eos_token_id"] == config.eos_token);
}

// H09
BOOST_AUTO_TEST_CASE(aliases_and_n_ctx) {
  nlohmann::json json = plain();
  json.erase("n_positions");
  BOOST_TEST(has(error_of([&] { (void)read(json); }), "n_positions is missing"));
  json["n_ctx"] = 6;
  BOOST_TEST(read(json).positions == 6);
  json["n_positions"] = 5;
  BOOST_TEST(read(json).positions == 5);
  json["max_position_embeddings"] = 7;
  BOOST_TEST(has(error_of([&] { (void)read(json); }), "max_position_embeddings is 7, but n_positions is 5"));
  json = {{"model_type", "gpt2"}, {"vocab_size", 11},       {"max_position_embeddings", 6},
          {"hidden_size", 4},     {"num_hidden_layers", 2}, {"num_attention_heads", 2},
          {"bos_token_id", 10},   {"eos_token_id", 9},      {"resid_pdrop", 0},
          {"embd_pdrop", 0},      {"attn_pdrop", 0}};
  BOOST_TEST((read(json) == HfFolder().table.config()));
  json["n_embd"] = 8;
  BOOST_TEST(has(error_of([&] { (void)read(json); }), "but n_embd is 8"));
}

BOOST_AUTO_TEST_CASE(what_is_not_computed_is_refused) {
  const std::vector<std::pair<std::string, nlohmann::json>> refused = {
      {"activation_function", "gelu"},
      {"activation_function", "relu"},
      {"n_inner", 17},
      {"scale_attn_weights", false},
      {"scale_attn_by_inverse_layer_idx", true},
      {"reorder_and_upcast_attn", true},
      {"add_cross_attention", true},
      {"tie_word_embeddings", false},
      {"model_type", "gpt_neo"},
      {"quantization_config", {{"bits", 4}}}};
  for (const auto& [name, value] : refused) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(has(error_with(name, value), "config.json: " + name));
    }
  }
  const std::vector<std::pair<std::string, nlohmann::json>> accepted = {
      {"activation_function", "gelu_new"},
      {"activation_function", "gelu_pytorch_tanh"},
      {"n_inner", nullptr},
      {"n_inner", 16},
      {"add_cross_attention", false},
      {"torch_dtype", "float64"},
      {"dtype", "bfloat16"},
      {"resid_pdrop", 0.1}};
  for (const auto& [name, value] : accepted) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(error_with(name, value).empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(wrong_values_are_named) {
  BOOST_TEST(has(error_with("n_layer", "2"), "n_layer is \"2\""));
  BOOST_TEST(has(error_with("n_layer", nullptr), "n_layer is missing"));
  BOOST_TEST(has(error_with("n_head", 3), "not divisible"));
  BOOST_TEST(has(error_with("n_head", 0), "number of heads is 0"));
  BOOST_TEST(has(error_with("n_layer", 1 << 24), "number of layers is 16777216, wanted 1 to"));
  BOOST_TEST(has(error_with("n_embd", std::int64_t{1} << 40), "embedding width is 1099511627776"));
  BOOST_TEST(has(error_with("attn_pdrop", "some"), "attn_pdrop is \"some\""));
  BOOST_TEST(has(error_with("attn_pdrop", 1.5), "attention dropout is 1.5"));
  BOOST_TEST(has(error_with("eos_token_id", 11), "end-of-text id is 11"));
  BOOST_TEST(has(error_with("layer_norm_epsilon", "small"), "layer_norm_epsilon"));
}

BOOST_AUTO_TEST_CASE(dropout_is_kept_and_absent_means_the_default_of_transformers) {
  nlohmann::json json = plain();
  json["resid_pdrop"] = 0.25;
  json["embd_pdrop"] = 0.125;
  json.erase("attn_pdrop");
  const ModelConfig config = read(json);
  BOOST_TEST((config.dropout == DropoutRates{.residual = 0.25, .embedding = 0.125, .attention = 0.1}));
  const nlohmann::ordered_json written = hf_config_json(config, WeightType::f32);
  BOOST_TEST(written["resid_pdrop"] == 0.25);
  BOOST_TEST(written["embd_pdrop"] == 0.125);
  BOOST_TEST(written["attn_pdrop"] == 0.1);
}

// H23: what transformers needs to choose the class and to end a text.
BOOST_AUTO_TEST_CASE(everything_that_transformers_wants_is_written) {
  const nlohmann::ordered_json written = hf_config_json(HfFolder().table.config(), WeightType::f32);
  BOOST_TEST(written["architectures"] == nlohmann::ordered_json({"GPT2LMHeadModel"}));
  for (const char* name : {"model_type", "vocab_size", "n_positions", "n_embd", "n_layer", "n_head",
                           "activation_function", "layer_norm_epsilon", "bos_token_id", "eos_token_id",
                           "resid_pdrop", "embd_pdrop", "attn_pdrop", "tie_word_embeddings"}) {
    BOOST_TEST(written.contains(name), name);
  }
}

BOOST_AUTO_TEST_CASE(absent_token_ids_are_the_last_of_the_vocabulary) {
  nlohmann::json json = plain();
  json.erase("bos_token_id");
  json["eos_token_id"] = nullptr;
  BOOST_TEST(read(json).bos_token == 10);
  BOOST_TEST(read(json).eos_token == 10);
  json["vocab_size"] = 60000;
  BOOST_TEST(read(json).eos_token == 50256);
}

BOOST_AUTO_TEST_SUITE_END()
