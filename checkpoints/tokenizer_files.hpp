#pragma once

#include <filesystem>

#include "model/model_config.hpp"

namespace shardgpt {

/// Copies vocab.json and merges.txt of `from`, and its other tokenizer files where there are any, to `to`,
/// and writes tokenizer_config.json where `from` has none. Throws InputError where a file is missing or a
/// token id is not below the model's vocabulary size.
void copy_tokenizer(const std::filesystem::path& from, const std::filesystem::path& to,
                    const ModelConfig& config);

}  // namespace shardgpt
