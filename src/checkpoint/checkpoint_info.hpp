#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "checkpoint/checksums.hpp"
#include "checkpoint/part_layout.hpp"
#include "h5/h5_file.hpp"
#include "model/model_config.hpp"

namespace shardgpt {

/// What a checkpoint says of itself.
struct CheckpointInfo {
  ModelConfig config;
  nlohmann::json state;  ///< what the writer handed over: step, counters, seeds, data position, schedule
  std::filesystem::path path;
  PartLayout parts;  ///< the files that hold the values: `path` itself, or parts of which it is the index
};

/// The file of a part of `info`.
[[nodiscard]] std::filesystem::path part_path(const CheckpointInfo& info, std::int64_t part);
/// The size of all files of a checkpoint.
[[nodiscard]] std::uintmax_t stored_bytes(const CheckpointInfo& info);

/// Reads and checks everything but the tensors' values: layout version, both JSON texts and the table against
/// their checksums, the shape of every dataset, the presence and shape of every part. Local, cheap, plain
/// POSIX reads. Throws DamagedCheckpoint, InputError (unknown layout version), H5Error (locked, or the system
/// refuses).
[[nodiscard]] CheckpointInfo read_checkpoint_info(const std::filesystem::path& path);

/// Version of the HDF5 library that reads and writes checkpoints.
[[nodiscard]] std::string hdf5_version();

/// The stored checksums of every tensor.
[[nodiscard]] TensorChecksums read_tensor_checksums(const H5File& file, const TensorTable& table);

/// The difference that makes a load fail: names the first tensor and kind whose checksums differ; empty where
/// none does. `kinds` is how many of state_kinds were read.
[[nodiscard]] std::string checksum_difference(const TensorTable& table, const TensorChecksums& found,
                                              const TensorChecksums& stored, std::size_t kinds);

}  // namespace shardgpt
