#include "train/launch_check.hpp"

#include <array>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

namespace shardgpt {
namespace {

struct Claim {
  const char* variable;
  std::optional<long> LaunchClaims::*value;
};

/// The nearest launcher first: srun sets both of Slurm's variables, sbatch and salloc only the second.
constexpr std::array<Claim, 4> known_claims = {{{"SLURM_STEP_NUM_TASKS", &LaunchClaims::slurm_step_tasks},
                                                {"SLURM_NTASKS", &LaunchClaims::slurm_tasks},
                                                {"PMI_SIZE", &LaunchClaims::pmi_size},
                                                {"OMPI_COMM_WORLD_SIZE", &LaunchClaims::open_mpi_size}}};

std::optional<long> number(const std::optional<std::string>& text) {
  long value = 0;
  if (!text || text->empty()) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc() && end == text->data() + text->size() ? std::optional(value) : std::nullopt;
}

}  // namespace

LaunchClaims read_launch_claims(const std::function<std::optional<std::string>(const char*)>& variable) {
  LaunchClaims claims;
  for (const Claim& claim : known_claims) {
    claims.*claim.value = number(variable(claim.variable));
  }
  return claims;
}

LaunchClaims read_launch_claims() {
  return read_launch_claims([](const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

LaunchVerdict judge_launch(int mpi_ranks, const LaunchClaims& claims, bool allow_one_rank) {
  // mpirun and mpiexec say how many they started; where that is what MPI sees, other variables are
  // left-overs.
  const bool launcher_agrees = claims.open_mpi_size == mpi_ranks || claims.pmi_size == mpi_ranks;
  for (const Claim& claim : known_claims) {
    const std::optional<long>& tasks = claims.*claim.value;
    const bool of_srun = claim.value == &LaunchClaims::slurm_step_tasks;
    if (of_srun && tasks == mpi_ranks) {
      return {};  // srun and MPI agree; the allocation may be larger
    }
    // Under Slurm mpirun starts its daemons by srun, one a node: that step is not ours.
    if (!tasks || *tasks == mpi_ranks || (of_srun && launcher_agrees)) {
      continue;
    }
    if (mpi_ranks == 1 && *tasks > 1 && !launcher_agrees && !allow_one_rank) {
      return {fmt::format(
                  "MPI sees one rank, but {} is {}: the launcher and MPI do not know each other, or no "
                  "launcher was used within an allocation. Start it with srun --mpi=pmix or mpirun; for a "
                  "run that is meant to have one rank add --allow-one-rank",
                  claim.variable, *tasks),
              {}};
    }
    return {
        {},
        fmt::format("MPI sees {} rank(s), {} is {}; MPI's count is used", mpi_ranks, claim.variable, *tasks)};
  }
  return {};
}

}  // namespace shardgpt
