#pragma once

#include "core/error.hpp"
#include "dist/mpi/mpi_session.hpp"
#include "train/train_config.hpp"

namespace shardgpt {

/// One start of a training run, from checks to the last checkpoint, on all ranks of the session. Returns
/// exit_done, or exit_run_again where it stopped early after saving. Throws InputError for wrong input, the
/// same on all ranks and before any work; Error, perhaps on one rank alone, for what goes wrong later.
[[nodiscard]] ExitCode run_training(const TrainConfig& config, const MpiSession& session);

}  // namespace shardgpt
