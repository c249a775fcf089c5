#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "checkpoint/checksums.hpp"
#include "checkpoint/part_layout.hpp"
#include "h5/h5_file.hpp"
#include "model/tensor_table.hpp"

namespace shardgpt {

/// Creates a checkpoint in one file at `path`, complete but for the values of the tensors, whose datasets
/// have their space and are not filled (a fresh file reads as zeros there). Local. `path` must not exist. The
/// caller closes.
[[nodiscard]] H5File create_checkpoint_skeleton(const std::filesystem::path& path, const TensorTable& table,
                                                const nlohmann::json& state, const TensorChecksums& checksums,
                                                const H5CreateOptions& options = {});

/// Creates the index of a checkpoint in several files: everything but the values, for which it refers to the
/// parts of `parts`. The rest as above.
[[nodiscard]] H5File create_checkpoint_index(const std::filesystem::path& path, const TensorTable& table,
                                             const nlohmann::json& state, const TensorChecksums& checksums,
                                             const PartLayout& parts);

/// How the index's dataset of one unit and kind refers to the parts, so that HDF5's virtual datasets show
/// other programs one checkpoint.
[[nodiscard]] std::vector<H5VirtualRun> virtual_runs(const TensorTable& table, const PartLayout& parts,
                                                     std::int64_t unit, StateKind kind);

/// The name under which a checkpoint is written before it is renamed to `final_path`.
[[nodiscard]] std::filesystem::path temporary_checkpoint_path(const std::filesystem::path& final_path);

}  // namespace shardgpt
