#pragma once

#include <filesystem>

#include <nlohmann/json.hpp>

#include "checkpoints/output_folder.hpp"
#include "checkpoints/weight_source.hpp"

namespace shardgpt {

/// Writes the weights of `source` as a checkpoint of step 0 whose moments are zero; `origin` goes into its
/// state. The file appears under its name only when it is complete. Reads the source twice: the checksums
/// stand in front of the values.
void write_start_checkpoint(const WeightSource& source, const nlohmann::json& origin,
                            const std::filesystem::path& output, Overwrite overwrite);

}  // namespace shardgpt
