#include "kernels/cpu/vector/attention.hpp"

#include "kernels/cpu/vector/attention_backward.hpp"
#include "kernels/cpu/vector/parts.hpp"

SHARDGPT_VECTOR_BEGIN
namespace {

template <class T>
void fill(ElementKernels<T>& kernels) {
  kernels.attention_forward = attention_forward<T, FloatDot>;
  kernels.attention_backward = attention_backward<T, FloatDot>;
  kernels.attention_workspace = attention_workspace<FloatDot>;
}

}  // namespace

void fill_attention(VectorKernels& kernels) {
  fill(kernels.f32);
  fill(kernels.bf16);
}

SHARDGPT_VECTOR_END
