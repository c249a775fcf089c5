#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "checkpoint/checkpoint_info.hpp"
#include "checkpoint/info_exchange.hpp"
#include "checkpoint/unit_pieces.hpp"
#include "dist/mpi/mpi_session.hpp"

namespace shardgpt {

/// What to load: all, or the weights only (to start another training from them).
enum class LoadContent { everything, parameters };

struct LoadOptions {
  LoadContent content = LoadContent::everything;
  std::int64_t max_piece_bytes = std::int64_t{1} << 30;  ///< most bytes a rank moves in one HDF5 call
  std::function<void()> on_progress = {};                ///< called by this rank after each dataset
};

/// Fills the pieces of all ranks, which together must cover every unit, from a checkpoint written by any
/// number of ranks, and checks the checksum of every tensor over what was read. Several ranks may ask for the
/// same piece. Each rank reads on its own, past MPI-IO, and only what it needs. Collective over `comm`.
/// Throws, the same on all ranks: InputError where the checkpoint is of another model than `table`,
/// DamagedCheckpoint where a checksum is wrong, Error.
void load_checkpoint(const MpiComm& comm, const CheckpointInfo& info, const TensorTable& table,
                     std::span<const MutableUnitPiece> pieces, const LoadOptions& options = {});

}  // namespace shardgpt
