#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace shardgpt {

/// `value` for people, with that many significant digits.
[[nodiscard]] inline std::string number_text(double value, int digits) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.*g", digits, value);
  return text.data();
}

}  // namespace shardgpt
