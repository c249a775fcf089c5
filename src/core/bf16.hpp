#pragma once

#include <bit>
#include <cstdint>

namespace shardgpt {

/// bfloat16: the upper half of an IEEE 754 binary32. Storage type; arithmetic is done in float.
struct bf16 {
  std::uint16_t bits = 0;

  constexpr bf16() = default;
  /// Rounds to nearest, ties to even; NaN stays NaN (quiet).
  explicit bf16(float value) : bits(round(value)) {}
  [[nodiscard]] static constexpr bf16 from_bits(std::uint16_t raw) {
    bf16 result;
    result.bits = raw;
    return result;
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }
  friend bool operator==(bf16 a, bf16 b) = default;

 private:
  static std::uint16_t round(float value) {
    // Selects instead of branches, so that loops over it become vector code.
    const auto raw = std::bit_cast<std::uint32_t>(value);
    const bool nan = (raw & 0x7fffffffU) > 0x7f800000U;
    const std::uint32_t quiet_nan = (raw >> 16U) | 0x40U;
    const std::uint32_t rounded = (raw + 0x7fffU + ((raw >> 16U) & 1U)) >> 16U;
    return static_cast<std::uint16_t>(nan ? quiet_nan : rounded);
  }
};
static_assert(sizeof(bf16) == 2);

}  // namespace shardgpt
