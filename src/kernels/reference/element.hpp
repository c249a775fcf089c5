#pragma once

#include <type_traits>

#include "core/bf16.hpp"

namespace shardgpt::reference {

/// The reference kernels are templates over the storage type: float and bf16 in training, double in tests
/// that compare a backward pass with finite differences. Arithmetic is always double.
[[nodiscard]] inline double load(double value) {
  return value;
}
[[nodiscard]] inline double load(float value) {
  return static_cast<double>(value);
}
[[nodiscard]] inline double load(bf16 value) {
  return static_cast<double>(static_cast<float>(value));
}

/// Rounds to the storage type. To bf16 it rounds twice (by way of float), which differs from one rounding
/// only for values within 2^-24 of a tie.
template <class T>
[[nodiscard]] T store(double value) {
  if constexpr (std::is_same_v<T, bf16>) {
    return bf16(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// Type of weight gradients and statistics that belong to storage type T.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace shardgpt::reference
