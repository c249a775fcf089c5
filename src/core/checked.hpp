#pragma once

#include <limits>
#include <stdexcept>
#include <utility>

namespace shardgpt {

/// Value-preserving integer conversion; throws std::overflow_error where `value` does not fit.
template <class To, class From>
[[nodiscard]] constexpr To narrow(From value) {
  if (!std::in_range<To>(value)) {
    throw std::overflow_error("integer value does not fit its type");
  }
  return static_cast<To>(value);
}

template <class T>
[[nodiscard]] constexpr T checked_mul(T a, T b) {
  T result{};
  if (__builtin_mul_overflow(a, b, &result)) {
    throw std::overflow_error("integer product overflows");
  }
  return result;
}

template <class T>
[[nodiscard]] constexpr T checked_add(T a, T b) {
  T result{};
  if (__builtin_add_overflow(a, b, &result)) {
    throw std::overflow_error("integer sum overflows");
  }
  return result;
}

template <class T>
[[nodiscard]] constexpr T ceil_div(T value, T divisor) {
  return value / divisor + static_cast<T>(value % divisor != 0);
}

template <class T>
[[nodiscard]] constexpr T round_up(T value, T multiple) {
  return checked_mul(ceil_div(value, multiple), multiple);
}

}  // namespace shardgpt
