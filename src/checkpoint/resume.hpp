#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "checkpoint/checkpoint_info.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint/unit_pieces.hpp"
#include "dist/mpi/mpi_session.hpp"
#include "model/tensor_table.hpp"

namespace shardgpt {

/// The complete checkpoints of a run, newest first, as rank 0 sees them, on all ranks. Collective. Throws
/// Error where there are only damaged ones: starting over would lose the run without a word.
[[nodiscard]] std::vector<std::filesystem::path> find_resumable(const MpiComm& comm,
                                                                const std::filesystem::path& run_dir);

/// Info of the newest checkpoint of a run that is sound but for its tensors' values, which are not read; for
/// the model's size before buffers exist. Collective; renames nothing. Nothing where the run has none.
[[nodiscard]] std::optional<CheckpointInfo> newest_checkpoint_info(const MpiComm& comm,
                                                                   const std::filesystem::path& run_dir);

/// Loads the newest sound checkpoint of a run. A damaged one is named in the log with the reason, renamed to
/// .damaged, and the next older is tried. Nothing where the run has none. Collective; throws as
/// load_checkpoint does, a checkpoint of another model or one that cannot be read included: those are not
/// damaged.
[[nodiscard]] std::optional<CheckpointInfo> load_newest(const MpiComm& comm,
                                                        const std::filesystem::path& run_dir,
                                                        const TensorTable& table,
                                                        std::span<const MutableUnitPiece> pieces,
                                                        const LoadOptions& options = {});

}  // namespace shardgpt
