#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardgpt {

/// Dropout probabilities of a Hugging Face configuration. Training applies none; they are carried along so
/// that an exported configuration says what the imported one said.
struct DropoutRates {
  double residual = 0;
  double embedding = 0;
  double attention = 0;

  [[nodiscard]] bool any() const { return residual != 0 || embedding != 0 || attention != 0; }
  friend bool operator==(const DropoutRates&, const DropoutRates&) = default;
};

/// Size and constants of a GPT-2 model; what Hugging Face keeps in config.json.
struct ModelConfig {
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t embd = 768;
  std::int64_t vocab = 50257;     ///< real vocabulary size, without padding
  std::int64_t positions = 1024;  ///< rows of the position table
  double layer_norm_epsilon = 1e-5;
  std::int64_t bos_token = 50256;  ///< carried through to config.json on export
  std::int64_t eos_token = 50256;
  DropoutRates dropout;

  [[nodiscard]] std::int64_t head_dim() const { return embd / heads; }
  /// Throws InputError where a size is not positive, heads do not divide embd, a token id is out of range, or
  /// a dropout rate is not in [0, 1).
  void validate() const;
  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

/// Vocabulary rows that compute uses: `vocab` rounded up to a multiple of 64. The padding exists only in
/// gathered buffers; it is never stored, trained or exported.
[[nodiscard]] std::int64_t padded_vocab(const ModelConfig& config);

/// gpt2, gpt2-medium, gpt2-large or gpt2-xl; nothing for another name.
[[nodiscard]] std::optional<ModelConfig> model_preset(std::string_view name);
[[nodiscard]] std::vector<std::string> model_preset_names();

}  // namespace shardgpt
