#include <boost/test/unit_test.hpp>

#include "checkpoint/config_json.hpp"
#include "core/error.hpp"

using namespace shardgpt;

BOOST_AUTO_TEST_SUITE(config_json)

BOOST_AUTO_TEST_CASE(round_trip) {
  ModelConfig config;
  config.layer_norm_epsilon = 1.0 / 3.0 * 1e-5;
  config.bos_token = 3;
  const nlohmann::json json = nlohmann::json::parse(config_to_json(config).dump());
  BOOST_TEST((config_from_json(json) == config));
}

BOOST_AUTO_TEST_CASE(dropout_is_written_only_where_there_is_some) {
  ModelConfig config;
  BOOST_TEST(!config_to_json(config).contains("resid_pdrop"));
  config.dropout = {.residual = 0.1, .embedding = 0.0, .attention = 1.0 / 3.0};
  const nlohmann::json json = nlohmann::json::parse(config_to_json(config).dump());
  BOOST_TEST(json["resid_pdrop"] == 0.1);
  BOOST_TEST((config_from_json(json) == config));
  BOOST_TEST(config_difference(config, ModelConfig()).empty());
  nlohmann::json wrong = json;
  wrong["attn_pdrop"] = "0.1";
  BOOST_CHECK_THROW((void)config_from_json(wrong), InputError);
}

BOOST_AUTO_TEST_CASE(missing_and_mistyped_fields_are_named) {
  nlohmann::json json = config_to_json(ModelConfig());
  json["embd"] = "768";
  BOOST_CHECK_EXCEPTION((void)config_from_json(json), InputError, [](const InputError& error) {
    return std::string(error.what()).find("embd is \"768\"") != std::string::npos;
  });
  json.erase("embd");
  BOOST_CHECK_THROW((void)config_from_json(json), InputError);
  BOOST_CHECK_THROW((void)config_from_json(nlohmann::json::array()), InputError);
}

BOOST_AUTO_TEST_CASE(differences_name_the_field_and_both_values) {
  ModelConfig found;
  ModelConfig wanted;
  wanted.eos_token = 1;
  BOOST_TEST(config_difference(found, wanted).empty());
  wanted.layers = 24;
  wanted.layer_norm_epsilon = 1e-6;
  BOOST_TEST(config_difference(found, wanted) ==
             "layers is 12, wanted 24, layer_norm_epsilon is 1e-05, wanted 1e-06");
}

BOOST_AUTO_TEST_SUITE_END()
