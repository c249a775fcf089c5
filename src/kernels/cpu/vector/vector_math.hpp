#pragma once

#include <cstdint>

// The namespace of the instruction set that this compilation is for; CMake sets it.
#define SHARDGPT_VECTOR_BEGIN \
  namespace shardgpt::cpu {   \
  namespace SHARDGPT_VECTOR_NAMESPACE {
#define SHARDGPT_VECTOR_END \
  }                         \
  }

SHARDGPT_VECTOR_BEGIN

[[gnu::always_inline]] inline float load(float value) {
  return value;
}
[[gnu::always_inline]] inline float load(std::uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16U);
}

/// Bits of the nearest bf16, ties to even; NaN stays NaN.
[[gnu::always_inline]] inline std::uint32_t bf16_bits(float value) {
  const auto raw = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t rounded = raw + 0x7fffU + ((raw >> 16U) & 1U);
  return (value != value ? raw | 0x400000U : rounded) >> 16U;
}

[[gnu::always_inline]] inline void store(float& to, float value) {
  to = value;
}
[[gnu::always_inline]] inline void store(std::uint16_t& to, float value) {
  to = static_cast<std::uint16_t>(bf16_bits(value));
}

[[gnu::always_inline]] inline float larger(float a, float b) {
  return a > b ? a : b;
}

/// e^x within 1.1 ulp for x in [-87.3, 88]; below it is exactly 0 (and for -inf), above it stays at e^88
/// instead of overflowing; NaN stays NaN. The polynomial is e^r's for |r| <= ln(2)/2 (Cephes). The range is
/// cut on the bits of x: from comparisons of floats GCC 12 makes branches that it turns into three loops in
/// one.
[[gnu::always_inline]] inline float exp_of(float argument) {
  constexpr float log2_e = 1.44269504088896341F;
  constexpr float ln2_high = 0.693359375F;
  constexpr float ln2_low = -2.12194440e-4F;
  constexpr float round_magic = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const auto bits = __builtin_bit_cast(std::uint32_t, argument);
  const std::uint32_t size = bits & 0x7fffffffU;
  constexpr auto largest = __builtin_bit_cast(std::uint32_t, 88.0F);
  const float x = __builtin_bit_cast(float, (size < largest ? size : largest) | (bits & 0x80000000U));
  const float shifted = x * log2_e + round_magic;
  const float n = shifted - round_magic;
  float r = x - n * ln2_high;
  r = r - n * ln2_low;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const float power = (p * r) * r + r + 1.0F;
  // n is in [-127, 127], and -127 gives the bits of zero.
  const auto scale = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127) << 23U;
  const float result = power * __builtin_bit_cast(float, scale);
  return argument != argument ? argument : result;
}

SHARDGPT_VECTOR_END
