#pragma once

#include "kernels/cpu/vector/vector_kernels.hpp"
#include "kernels/cpu/vector/vector_math.hpp"

SHARDGPT_VECTOR_BEGIN

/// Replaces the attention of bf16 by one whose products take bf16 pairs; for machines with AVX-512 BF16.
void use_bf16_dot(ElementKernels<std::uint16_t>& kernels);

SHARDGPT_VECTOR_END
