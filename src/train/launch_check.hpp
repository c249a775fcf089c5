#pragma once

#include <functional>
#include <optional>
#include <string>

namespace shardgpt {

/// What launchers told this process, by variable name; nothing where one is not set. Open MPI sets variables
/// of its own in MPI_Init also without a launcher, so the environment is read before.
struct LaunchClaims {
  std::optional<long> slurm_step_tasks;  ///< SLURM_STEP_NUM_TASKS: started by srun
  std::optional<long> slurm_tasks;       ///< SLURM_NTASKS: somewhere within an allocation
  std::optional<long> pmi_size;          ///< PMI_SIZE
  std::optional<long> open_mpi_size;     ///< OMPI_COMM_WORLD_SIZE
};

/// Reads the claims through `variable`, which gives a variable's value or nothing.
[[nodiscard]] LaunchClaims read_launch_claims(
    const std::function<std::optional<std::string>(const char*)>& variable);
/// Of this process.
[[nodiscard]] LaunchClaims read_launch_claims();

/// At most one of the two is not empty.
struct LaunchVerdict {
  std::string refusal;
  std::string warning;
};

/// Compares with the number of ranks that MPI sees, which rules. One rank where a launcher started several
/// processes means that MPI and the launcher do not know each other: each process would do the whole run.
[[nodiscard]] LaunchVerdict judge_launch(int mpi_ranks, const LaunchClaims& claims, bool allow_one_rank);

}  // namespace shardgpt
