#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "kernels/ops.hpp"

// What ends an optimizer step. Each call only launches; pointers, those in AdamWPiece included, are to device
// memory.
namespace shardgpt::cuda {

/// Blocks, and so partial sums, of norm_squared.
inline constexpr std::int64_t norm_parts = 1024;

/// As Ops::norm_squared.  parts: workspace of norm_parts doubles.
void norm_squared(cudaStream_t stream, const float* values, std::int64_t count, double* parts, double* out);
/// As Ops::sum_norms.
void sum_norms(cudaStream_t stream, const double* parts, std::int64_t count, StepSums* sums);
/// As Ops::finish_step.
void finish_step(cudaStream_t stream, const StepSums* reduced, double clip, StepScalars* scalars);
/// As Ops::adamw.
void adamw(cudaStream_t stream, const AdamWPiece& piece, const StepScalars* scalars);

}  // namespace shardgpt::cuda
