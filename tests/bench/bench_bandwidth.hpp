#pragma once

namespace shardgpt::bench {

/// GB/s of memory traffic that the calling thread's OpenMP threads reach together, best of `repeats`, on
/// arrays that no cache holds.
struct Bandwidth {
  double read = 0;    ///< sums of one array
  double update = 0;  ///< four arrays read and three of them written: what AdamW does, without its arithmetic
};
[[nodiscard]] Bandwidth measure_bandwidth(int repeats);

}  // namespace shardgpt::bench
