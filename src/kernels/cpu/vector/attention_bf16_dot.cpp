// Attention with AVX-512's bf16 dot products: compiled on x86-64 only, into the instruction set of that name.
#include <immintrin.h>

#include "kernels/cpu/vector/attention.hpp"
#include "kernels/cpu/vector/attention_backward.hpp"
#include "kernels/cpu/vector/bf16_dot.hpp"

SHARDGPT_VECTOR_BEGIN
namespace {

/// Words are pairs of bf16, the lower inner index in the lower half.
struct Bf16Dot {
  static constexpr int pack = 2;
  using Word = std::uint32_t;
  [[gnu::always_inline]] static Vector multiply_add(Vector sum, Word a, Vector b) {
    const __m512i pairs = _mm512_set1_epi32(static_cast<int>(a));
    return _mm512_dpbf16_ps(sum, (__m512bh)pairs, (__m512bh)b);
  }
  [[gnu::always_inline]] static Word word(float low, float high) {
    return bf16_bits(low) | bf16_bits(high) << 16U;
  }
};

}  // namespace

void use_bf16_dot(ElementKernels<std::uint16_t>& kernels) {
  kernels.attention_forward = attention_forward<std::uint16_t, Bf16Dot>;
  kernels.attention_backward = attention_backward<std::uint16_t, Bf16Dot>;
  kernels.attention_workspace = attention_workspace<Bf16Dot>;
}

SHARDGPT_VECTOR_END
