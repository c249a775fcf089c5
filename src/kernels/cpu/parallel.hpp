#pragma once

#include <algorithm>
#include <cstdint>

#if SHARDGPT_USE_OPENMP
#include <omp.h>
#endif

namespace shardgpt::cpu {

/// The only file of the kernels that knows OpenMP. Call on the compute thread; a build without OpenMP, or one
/// thread, runs everything on the caller.
[[nodiscard]] inline int max_threads() {
#if SHARDGPT_USE_OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

/// Elements that are worth a thread: below it, waking one costs more than it saves.
inline constexpr std::int64_t elements_per_thread = 4096;

/// Calls `work(first, last, thread)` for a partition of [0, count) into contiguous ranges, at most one per
/// thread; each index stands for `elements` elements of work. `work` must not throw. What it computes for an
/// index must not depend on the partition.
template <class Work>
void parallel_ranges(std::int64_t count, [[maybe_unused]] std::int64_t elements, Work&& work) {
#if SHARDGPT_USE_OPENMP
  const std::int64_t worthwhile = std::min(count, count * elements / elements_per_thread + 1);
  const auto threads = static_cast<int>(std::min<std::int64_t>(worthwhile, omp_get_max_threads()));
  if (threads > 1) {
#pragma omp parallel num_threads(threads)
    {
      const std::int64_t thread = omp_get_thread_num();
      const std::int64_t team = omp_get_num_threads();
      work(count * thread / team, count * (thread + 1) / team, static_cast<int>(thread));
    }
    return;
  }
#endif
  if (count > 0) {
    work(std::int64_t{0}, count, 0);
  }
}

/// Calls `work(index, thread)` for each index in [0, count).
template <class Work>
void parallel_for(std::int64_t count, std::int64_t elements, Work&& work) {
  parallel_ranges(count, elements, [&](std::int64_t first, std::int64_t last, int thread) {
    for (std::int64_t i = first; i < last; ++i) {
      work(i, thread);
    }
  });
}

}  // namespace shardgpt::cpu
