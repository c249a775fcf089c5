#pragma once

#include <chrono>
#include <optional>
#include <span>

#include <mpi.h>

namespace shardgpt {

/// Blocks until all `requests` are complete: polls, because MPI progresses inside its calls, and sleeps
/// between polls, because the thread shares its core with compute. False where `time_out` has passed first.
/// Throws MpiError.
[[nodiscard]] bool wait_sleeping(std::span<MPI_Request> requests,
                                 std::optional<std::chrono::seconds> time_out = std::nullopt);

}  // namespace shardgpt
