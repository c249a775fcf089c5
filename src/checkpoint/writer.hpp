#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "checkpoint/unit_pieces.hpp"
#include "core/background_thread.hpp"
#include "dist/mpi/mpi_session.hpp"
#include "h5/h5_parallel.hpp"
#include "model/tensor_table.hpp"

namespace shardgpt {

/// One file for all ranks, or one for those of each node and an index of them.
enum class CheckpointFiles { shared, node };

struct SaveOptions {
  bool verify_after_write = true;  ///< read everything back and compare it before the file gets its name
  std::int64_t max_piece_bytes = std::int64_t{1} << 30;  ///< most bytes a rank moves in one HDF5 call
  /// Called by this rank after each dataset that was written or read back, and after each stage.
  std::function<void()> on_progress = {};
  CheckpointFiles files = CheckpointFiles::shared;
  std::int64_t ranks_per_file = 0;  ///< node: most ranks that share a file; 0: all of the node
  ParallelIo io = {};
  LocalRunner local =
      {};  ///< runs what takes long on this rank alone: checksums, transfers to and from the disk
  std::int64_t alignment_bytes = H5CreateOptions().alignment_bytes;  ///< of large datasets; at least 1
  /// Called on every rank after each stage: "planned", "created", "written", "verified", "synced". What it
  /// throws ends the save on all ranks. For tests.
  std::function<void(std::string_view stage)> on_stage = {};
};

/// Writes a checkpoint to `final_path` from the pieces of all ranks, which together must cover every unit
/// exactly once. Collective over `comm`; blocking: the spans are read until it returns. The file appears
/// under its name only when it is complete and durable; an earlier file of that name is replaced then. With
/// CheckpointFiles::node that file is the index, and the parts lie beside it in a folder of their own. Where
/// any rank fails every rank throws the same error and nothing is left. `state` is taken from rank 0.
void save_checkpoint(const MpiComm& comm, const std::filesystem::path& final_path, const TensorTable& table,
                     const nlohmann::json& state, std::span<const UnitPiece> pieces,
                     const SaveOptions& options = {});

}  // namespace shardgpt
