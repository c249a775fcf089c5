#pragma once

#include <cstddef>
#include <filesystem>

#include "dist/mpi/mpi_session.hpp"

namespace shardgpt {

/// Bytes of memory that the processes of this node may hold: all of the machine's, or what the control groups
/// (version 1 or 2) of this process allow. 0: unknown. `root`: where /proc and /sys are.
[[nodiscard]] std::size_t node_memory_bytes(const std::filesystem::path& root = "/");

/// Throws InputError, on all ranks, naming node, need and memory where the ranks of a node, each of which
/// needs `per_rank` bytes of host memory, need more than `available`, what this rank's node has (0: unknown).
/// Collective over `comm`.
void require_host_memory(const MpiComm& comm, std::size_t per_rank, std::size_t available);

}  // namespace shardgpt
