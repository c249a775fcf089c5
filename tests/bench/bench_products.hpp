#pragma once

#include "bench/bench_model.hpp"
#include "core/dtype.hpp"

namespace shardgpt::bench {

/// Times oneDNN at the model's matrix shapes, prints a table (each direction with row-major operands, and
/// forward with weights in oneDNN's own layout) and returns the rate of the last over all shapes together:
/// what a step could reach if it were nothing but forward products. GFLOP/s, on the calling thread's OpenMP
/// threads.
[[nodiscard]] double measure_products(const BenchConfig& config, DType dtype, BenchClock clock, int repeats);

}  // namespace shardgpt::bench
