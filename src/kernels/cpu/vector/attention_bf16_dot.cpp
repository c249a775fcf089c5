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
  [[gnu::always_inline]] static Word word(std::uint16_t low, std::uint16_t high) {
    return static_cast<Word>(low) | static_cast<Word>(high) << 16U;
  }
  static void pack_row(std::int64_t count, const float* values, Word* to) {
    for (std::int64_t i = 0; i < count; i += 16) {
      const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_load_ps(values + i));
      _mm256_store_si256(reinterpret_cast<__m256i*>(to + i / 2), (__m256i)rounded);
    }
  }
  static void pack_pairs(std::int64_t count, const float* first, const float* second, Word* to) {
    for (std::int64_t i = 0; i < count; i += 16) {
      const auto low = (__m256i)_mm512_cvtneps_pbh(_mm512_load_ps(first + i));
      const auto high = (__m256i)_mm512_cvtneps_pbh(_mm512_load_ps(second + i));
      const __m512i shifted = _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16);
      _mm512_store_si512(to + i, _mm512_or_si512(_mm512_cvtepu16_epi32(low), shifted));
    }
  }
};

}  // namespace

void use_bf16_dot(ElementKernels<std::uint16_t>& kernels) {
  kernels.attention_forward = attention_forward<std::uint16_t, Bf16Dot>;
  kernels.attention_backward = attention_backward<std::uint16_t, Bf16Dot>;
  kernels.attention_workspace = attention_workspace<Bf16Dot>;
}

SHARDGPT_VECTOR_END
