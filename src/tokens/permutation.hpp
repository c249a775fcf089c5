#pragma once

#include <cstdint>

#include "core/philox.hpp"

namespace shardgpt {

/// A pseudo-random permutation of 0 … size − 1 that is computed, not stored: a Feistel network keyed by
/// `random` on the smallest power of two that holds `size`, walking along its cycle until the value is in
/// range.
class Permutation {
 public:
  /// `size` ≥ 1.
  Permutation(std::int64_t size, RandomStream random);

  /// Where `index` goes; fewer than two rounds of the network on average (more for sizes below 64).
  [[nodiscard]] std::int64_t operator()(std::int64_t index) const;

 private:
  [[nodiscard]] std::uint64_t encrypt(std::uint64_t value) const;

  std::uint64_t size_;
  RandomStream random_;
  unsigned left_bits_;
  unsigned right_bits_;
};

}  // namespace shardgpt
