#pragma once

#include "kernels/cpu/cpu_context.hpp"

namespace shardgpt::cpu {

/// Sum of squares: a fixed number of parts, each in double, added in order.
[[nodiscard]] double norm_squared(const CpuContext& context, const float* values, std::int64_t count);

void adamw(const CpuContext& context, const AdamWPiece& piece, const StepScalars& scalars);

}  // namespace shardgpt::cpu
