#include "dist/mpi/mpi_wait.hpp"

#include <algorithm>
#include <thread>

#include "core/checked.hpp"
#include "dist/mpi/mpi_session.hpp"

namespace shardgpt {

bool wait_sleeping(std::span<MPI_Request> requests, std::optional<std::chrono::seconds> time_out) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  for (;;) {
    int done = 0;
    SHARDGPT_MPI(MPI_Testall(narrow<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE));
    if (done != 0) {
      return true;
    }
    const Clock::duration waited = Clock::now() - start;
    if (time_out && waited > *time_out) {
      return false;
    }
    if (waited < std::chrono::microseconds(100)) {
      std::this_thread::yield();
    } else {
      // A small part of what was waited already: each look costs system calls, and a job whose ranks all wait
      // for one would else keep its cores busy with looking.
      std::this_thread::sleep_for(std::clamp<Clock::duration>(waited / 16, std::chrono::microseconds(20),
                                                              std::chrono::microseconds(500)));
    }
  }
}

}  // namespace shardgpt
