#pragma once

#include <cstddef>
#include <filesystem>

#include "dist/mpi/mpi_session.hpp"
#include "train/plan.hpp"

namespace shardgpt {

/// Bytes of memory that the processes of this node may hold: all of the machine's, or what the control groups
/// (version 1 or 2) of this process allow. 0: unknown. `root`: where /proc and /sys are.
[[nodiscard]] std::size_t node_memory_bytes(const std::filesystem::path& root = "/");

/// Throws InputError, on all ranks, naming node, need and memory where the ranks of a node need more host
/// memory by `plan` than `available` bytes, what this rank's node has (0: unknown). Collective over `comm`.
void require_memory(const MpiComm& comm, const TrainingPlan& plan, std::size_t available);

}  // namespace shardgpt
