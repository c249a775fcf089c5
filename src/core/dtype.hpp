#pragma once

#include <cstddef>
#include <string_view>

#include "core/bf16.hpp"

namespace shardgpt {

/// Element types of device buffers.
enum class DType { f32, bf16, i32 };

[[nodiscard]] constexpr std::size_t dtype_bytes(DType type) {
  return type == DType::bf16 ? 2 : 4;
}
[[nodiscard]] constexpr std::string_view dtype_name(DType type) {
  return type == DType::bf16 ? "bf16" : type == DType::f32 ? "f32" : "i32";
}

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<bf16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<int> {
  static constexpr DType value = DType::i32;
};

}  // namespace shardgpt
