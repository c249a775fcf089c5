#pragma once

#include <nlohmann/json.hpp>

#include "dist/mpi/mpi_session.hpp"
#include "train/train_config.hpp"

namespace shardgpt {

/// What made a run's files: program, libraries, ranks, command line. For run.json and checkpoints. It holds
/// no time, so that the same start gives the same bytes.
[[nodiscard]] nlohmann::json provenance(const TrainConfig& config, const MpiComm& comm);

}  // namespace shardgpt
