#include "checkpoints/tokenizer_files.hpp"

#include <array>
#include <string>

#include <nlohmann/json.hpp>

#include "core/atomic_file.hpp"
#include "core/error.hpp"
#include "hf/strict_json.hpp"

namespace shardgpt {
namespace {

constexpr std::array optional_files = {"tokenizer.json", "special_tokens_map.json", "added_tokens.json"};

/// The text of each token id that the configuration names.
nlohmann::ordered_json tokenizer_config(const nlohmann::json& vocab, const ModelConfig& config,
                                        const std::string& where) {
  nlohmann::ordered_json json = {{"tokenizer_class", "GPT2Tokenizer"},
                                 {"add_prefix_space", false},
                                 {"model_max_length", config.positions}};
  for (const auto& [token, id] : vocab.items()) {
    SHARDGPT_REQUIRE(id.is_number_unsigned() && id.get<std::int64_t>() < config.vocab,
                     where + ": the id of " + nlohmann::json(token).dump() + " is " + id.dump() +
                         ", the model's vocabulary size is " + std::to_string(config.vocab));
    if (id == config.bos_token) {
      json["bos_token"] = token;
    }
    if (id == config.eos_token) {
      json["eos_token"] = token;
      json["unk_token"] = token;
    }
  }
  SHARDGPT_REQUIRE(json.contains("eos_token"),
                   where + ": no token has the model's end-of-text id " + std::to_string(config.eos_token));
  return json;
}

void copy(const std::filesystem::path& from, const std::filesystem::path& to, const char* name) {
  write_file_atomically(to / name, read_text_file(from / name));
}

}  // namespace

void copy_tokenizer(const std::filesystem::path& from, const std::filesystem::path& to,
                    const ModelConfig& config) {
  const std::string where = (from / "vocab.json").string();
  const nlohmann::json vocab = parse_strict_object(read_text_file(where), where);
  const nlohmann::ordered_json made = tokenizer_config(vocab, config, where);
  copy(from, to, "vocab.json");
  copy(from, to, "merges.txt");
  for (const char* name : optional_files) {
    if (std::filesystem::exists(from / name)) {
      copy(from, to, name);
    }
  }
  if (std::filesystem::exists(from / "tokenizer_config.json")) {
    copy(from, to, "tokenizer_config.json");
  } else {
    write_file_atomically(to / "tokenizer_config.json", made.dump(2) + "\n");
  }
}

}  // namespace shardgpt
