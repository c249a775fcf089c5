#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

namespace shardgpt::cuda {

/// sum[i] += part[i] for `count` floats of device memory, on `stream`.
void add_to(float* sum, const float* part, std::size_t count, cudaStream_t stream);

/// values[i] = the sum over r of all[r * count + i], r ascending, for `ranks` pieces of `count` doubles of
/// device memory, on `stream`. Meant for few values.
void sum_over_ranks(double* values, const double* all, int ranks, int count, cudaStream_t stream);

}  // namespace shardgpt::cuda
