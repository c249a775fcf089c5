#pragma once

#include "kernels/cpu/vector/vector_kernels.hpp"
#include "kernels/cpu/vector/vector_math.hpp"

// Each file of this folder fills its part of the table.
SHARDGPT_VECTOR_BEGIN

void fill_elementwise(VectorKernels& kernels);
void fill_layer_norm(VectorKernels& kernels);
void fill_softmax(VectorKernels& kernels);
void fill_optimizer(VectorKernels& kernels);
void fill_attention(VectorKernels& kernels);
/// The whole table of this instruction set.
[[nodiscard]] VectorKernels make_kernels();

SHARDGPT_VECTOR_END
