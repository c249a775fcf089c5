#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "checkpoint/checksums.hpp"
#include "h5/h5_file.hpp"
#include "model/tensor_table.hpp"

namespace shardgpt {

/// Creates a checkpoint at `path`, complete but for the values of the tensors, whose datasets have their
/// space and are not filled (a fresh file reads as zeros there). Local. `path` must not exist. The caller
/// closes.
[[nodiscard]] H5File create_checkpoint_skeleton(const std::filesystem::path& path, const TensorTable& table,
                                                const nlohmann::json& state,
                                                const TensorChecksums& checksums);

/// The name under which a checkpoint is written before it is renamed to `final_path`.
[[nodiscard]] std::filesystem::path temporary_checkpoint_path(const std::filesystem::path& final_path);

}  // namespace shardgpt
