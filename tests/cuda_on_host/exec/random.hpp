#pragma once

#include <cstdint>

namespace cuda_on_host {

/// xorshift64*: one multiplication a number, since each switch between threads draws one.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U | 1U) {}
  std::uint32_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>(state_ * 0x2545f4914f6cdd1dU >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace cuda_on_host
