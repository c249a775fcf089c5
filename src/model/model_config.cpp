#include "model/model_config.hpp"

#include <array>
#include <cmath>

#include "core/checked.hpp"
#include "core/error.hpp"

namespace shardgpt {
namespace {

struct Preset {
  std::string_view name;
  std::int64_t layers;
  std::int64_t heads;
  std::int64_t embd;
};

// Radford et al. 2019, table 2, with the head counts of the released checkpoints.
constexpr std::array presets = {Preset{"gpt2", 12, 12, 768}, Preset{"gpt2-medium", 24, 16, 1024},
                                Preset{"gpt2-large", 36, 20, 1280}, Preset{"gpt2-xl", 48, 25, 1600}};

// Far above any GPT-2. They keep the bytes of a model and its moments inside 64 bits and its tensor table,
// which is made before any file is compared with it, in little memory.
constexpr std::int64_t layers_limit = std::int64_t{1} << 14;
constexpr std::int64_t width_limit = std::int64_t{1} << 20;
constexpr std::int64_t size_limit = std::int64_t{1} << 24;

void require_size(const char* what, std::int64_t value, std::int64_t limit) {
  SHARDGPT_REQUIRE(value >= 1 && value <= limit, std::string("model: ") + what + " is " +
                                                     std::to_string(value) + ", wanted 1 to " +
                                                     std::to_string(limit));
}

void require_token(const char* what, std::int64_t value, std::int64_t vocab) {
  SHARDGPT_REQUIRE(value >= 0 && value < vocab,
                   std::string("model: ") + what + " is " + std::to_string(value) +
                       ", wanted an id below the vocabulary size " + std::to_string(vocab));
}

void require_rate(const char* what, double value) {
  SHARDGPT_REQUIRE(value >= 0 && value < 1, std::string("model: the ") + what + " dropout is " +
                                                std::to_string(value) + ", wanted 0 or more and less than 1");
}

}  // namespace

void ModelConfig::validate() const {
  require_size("number of layers", layers, layers_limit);
  require_size("number of heads", heads, width_limit);
  require_size("embedding width", embd, width_limit);
  require_size("vocabulary size", vocab, size_limit);
  require_size("number of positions", positions, size_limit);
  SHARDGPT_REQUIRE(embd % heads == 0, "model: the embedding width " + std::to_string(embd) +
                                          " is not divisible by the number of heads " +
                                          std::to_string(heads));
  SHARDGPT_REQUIRE(std::isfinite(layer_norm_epsilon) && layer_norm_epsilon > 0,
                   "model: the layer-norm epsilon must be a positive number");
  require_token("the begin-of-text id", bos_token, vocab);
  require_token("the end-of-text id", eos_token, vocab);
  require_rate("residual", dropout.residual);
  require_rate("embedding", dropout.embedding);
  require_rate("attention", dropout.attention);
}

std::int64_t padded_vocab(const ModelConfig& config) {
  return round_up<std::int64_t>(config.vocab, 64);
}

std::optional<ModelConfig> model_preset(std::string_view name) {
  for (const Preset& preset : presets) {
    if (preset.name == name) {
      ModelConfig config;
      config.layers = preset.layers;
      config.heads = preset.heads;
      config.embd = preset.embd;
      return config;
    }
  }
  return std::nullopt;
}

std::vector<std::string> model_preset_names() {
  std::vector<std::string> names;
  names.reserve(presets.size());
  for (const Preset& preset : presets) {
    names.emplace_back(preset.name);
  }
  return names;
}

}  // namespace shardgpt
