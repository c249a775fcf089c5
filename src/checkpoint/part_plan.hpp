#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/part_layout.hpp"
#include "checkpoint/unit_pieces.hpp"
#include "dist/mpi/mpi_session.hpp"

namespace shardgpt {

/// The ranks that write one file of a checkpoint together: those of a node, in groups of at most
/// `ranks_per_file` (0: no limit). Collective over `comm`.
[[nodiscard]] MpiComm split_by_file(const MpiComm& comm, std::int64_t ranks_per_file);

/// Who writes what.
struct PartPlan {
  std::int64_t own_part = -1;  ///< of this rank's group; -1: the group holds no element and gets no file
  std::int64_t parts = 0;
  std::vector<PartRun> runs;  ///< packed
};

/// The plan for the pieces of all ranks; `group` is this rank's of split_by_file. Parts are numbered in the
/// order of the first ranks of their groups. Collective over `comm`.
[[nodiscard]] PartPlan plan_parts(const MpiComm& comm, const MpiComm& group,
                                  std::span<const UnitPiece> pieces);

}  // namespace shardgpt
