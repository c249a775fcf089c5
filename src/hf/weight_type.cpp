#include "hf/weight_type.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/bf16.hpp"
#include "core/error.hpp"

namespace shardgpt {
namespace {

struct TypeFacts {
  WeightType type;
  std::size_t bytes;
  std::string_view safetensors;
  std::string_view torch;
};
constexpr std::array facts = {TypeFacts{WeightType::f32, 4, "F32", "float32"},
                              TypeFacts{WeightType::bf16, 2, "BF16", "bfloat16"},
                              TypeFacts{WeightType::f16, 2, "F16", "float16"}};

const TypeFacts& facts_of(WeightType type) {
  return facts[static_cast<std::size_t>(type)];
}

static_assert(std::endian::native == std::endian::little, "files are little-endian and copied as they are");

template <class T>
T load(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void store(std::span<std::byte> bytes, std::size_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}

}  // namespace

std::size_t weight_type_bytes(WeightType type) {
  return facts_of(type).bytes;
}

std::string_view safetensors_name(WeightType type) {
  return facts_of(type).safetensors;
}

std::string_view torch_name(WeightType type) {
  return facts_of(type).torch;
}

std::optional<WeightType> weight_type_of(std::string_view name) {
  for (const TypeFacts& entry : facts) {
    if (entry.safetensors == name) {
      return entry.type;
    }
  }
  return std::nullopt;
}

std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {
    return static_cast<std::uint16_t>(sign | 0x7e00U | ((magnitude >> 13U) & 0x1ffU));  // NaN, made quiet
  }
  if (magnitude >= 0x47800000U) {  // 65536 and more
    return static_cast<std::uint16_t>(sign | 0x7c00U);
  }
  if (magnitude < 0x38800000U) {  // below 2^-14: sub-normal, in units of 2^-24
    // Adding 0.5 puts the unit 2^-24 at the end of the significand: the addition rounds to nearest even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
  }
  const std::uint32_t odd = (magnitude >> 13U) & 1U;
  // A carry out of the significand moves into the exponent, and from the largest value to infinity.
  const std::uint32_t rounded = (magnitude + 0xfffU + odd - 0x38000000U) >> 13U;
  return static_cast<std::uint16_t>(sign | rounded);
}

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16U;
  const std::uint32_t exponent = (half >> 10U) & 0x1fU;
  const std::uint32_t fraction = half & 0x3ffU;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 0x1fU ? 0xffU : exponent + 112U;
  return std::bit_cast<float>(sign | (wide << 23U) | (fraction << 13U));
}

void decode_weights(WeightType type, std::span<const std::byte> bytes, std::span<float> values) {
  SHARDGPT_EXPECT(bytes.size() == values.size() * weight_type_bytes(type));
  switch (type) {  // outside of the loops, which then vectorise
    case WeightType::f32:
      if (!values.empty()) {
        std::memcpy(values.data(), bytes.data(), bytes.size());
      }
      return;
    case WeightType::bf16:
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(bf16::from_bits(load<std::uint16_t>(bytes, i)));
      }
      return;
    case WeightType::f16:
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = half_to_float(load<std::uint16_t>(bytes, i));
      }
      return;
  }
}

void encode_weights(WeightType type, std::span<const float> values, std::span<std::byte> bytes,
                    const std::string& name) {
  SHARDGPT_EXPECT(bytes.size() == values.size() * weight_type_bytes(type));
  if (type == WeightType::f32) {
    if (!values.empty()) {
      std::memcpy(bytes.data(), values.data(), bytes.size());
    }
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    float stored = 0;
    if (type == WeightType::bf16) {
      const bf16 rounded(values[i]);
      stored = static_cast<float>(rounded);
      store(bytes, i, rounded.bits);
    } else {
      const std::uint16_t half = float_to_half(values[i]);
      stored = half_to_float(half);
      store(bytes, i, half);
    }
    SHARDGPT_REQUIRE(std::isfinite(stored) || !std::isfinite(values[i]),
                     name + ": the value " + std::to_string(values[i]) + " is too large for " +
                         std::string(torch_name(type)) + "; use another --dtype");
  }
}

}  // namespace shardgpt
