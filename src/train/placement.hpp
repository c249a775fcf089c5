#pragma once

#include <string>
#include <vector>

#include "dist/mpi/mpi_session.hpp"

namespace shardgpt {

/// Where one rank runs.
struct RankPlace {
  std::string host;
  std::vector<int> cores;              ///< it may run on, ascending
  int threads = 1;                     ///< it computes with
  long long shared_memory_bytes = -1;  ///< free in /dev/shm; -1: unknown
  long long locked_memory_bytes = -1;  ///< it may lock; -1: no limit
};

/// This process.
[[nodiscard]] RankPlace own_place(int threads);
/// Of all ranks, on all. Collective.
[[nodiscard]] std::vector<RankPlace> gather_places(const MpiComm& comm, const RankPlace& own);

/// "ranks 0-3 on node12: cores 0-15, 4 threads each", a line for each run of ranks that are alike.
[[nodiscard]] std::string describe_places(const std::vector<RankPlace>& places, const std::string& device);

/// What will make the run slow or break it later, with the remedy; one entry for each kind of trouble.
[[nodiscard]] std::vector<std::string> placement_warnings(const std::vector<RankPlace>& places);

}  // namespace shardgpt
