#pragma once

#include <filesystem>

#include "checkpoint/checkpoint_info.hpp"
#include "dist/mpi/mpi_session.hpp"

namespace shardgpt {

/// read_checkpoint_info on rank 0, its result or its error on all ranks. Collective.
[[nodiscard]] CheckpointInfo read_checkpoint_info(const MpiComm& comm, const std::filesystem::path& path);

}  // namespace shardgpt
