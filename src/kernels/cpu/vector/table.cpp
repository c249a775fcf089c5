#include "kernels/cpu/vector/parts.hpp"

#define SHARDGPT_VECTOR_TEXT(name) #name
#define SHARDGPT_VECTOR_NAME(name) SHARDGPT_VECTOR_TEXT(name)

SHARDGPT_VECTOR_BEGIN

VectorKernels make_kernels() {
  VectorKernels kernels;
  kernels.name = SHARDGPT_VECTOR_NAME(SHARDGPT_VECTOR_NAMESPACE);
  fill_elementwise(kernels);
  fill_layer_norm(kernels);
  fill_softmax(kernels);
  fill_optimizer(kernels);
  fill_attention(kernels);
  return kernels;
}

SHARDGPT_VECTOR_END
