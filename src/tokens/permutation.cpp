#include "tokens/permutation.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "core/checked.hpp"

namespace shardgpt {
namespace {

// Four rounds of random functions are enough in theory for large domains; small halves need a few more.
constexpr std::uint64_t rounds = 8;
// Halves of fewer bits hardly mix; a tiny set walks a few steps longer instead.
constexpr unsigned minimum_bits = 6;

}  // namespace

Permutation::Permutation(std::int64_t size, RandomStream random)
    : size_(narrow<std::uint64_t>(size)), random_(random) {
  if (size < 1) {
    throw std::invalid_argument("a permutation needs at least one element");
  }
  const unsigned bits = std::max(minimum_bits, static_cast<unsigned>(std::bit_width(size_ - 1)));
  left_bits_ = bits / 2;
  right_bits_ = bits - left_bits_;
}

std::uint64_t Permutation::encrypt(std::uint64_t value) const {
  const std::uint64_t left_mask = (std::uint64_t{1} << left_bits_) - 1;
  const std::uint64_t right_mask = (std::uint64_t{1} << right_bits_) - 1;
  std::uint64_t left = value >> right_bits_;
  std::uint64_t right = value & right_mask;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    // Halves have at most 32 bits, so round and half share one counter. Each half is changed by a function of
    // the other alone, which any widths allow.
    if (round % 2 == 0) {
      left ^= random_.words((round << 32U) | right)[0] & left_mask;
    } else {
      right ^= random_.words((round << 32U) | left)[0] & right_mask;
    }
  }
  return (left << right_bits_) | right;
}

std::int64_t Permutation::operator()(std::int64_t index) const {
  if (index < 0 || static_cast<std::uint64_t>(index) >= size_) {
    throw std::out_of_range("index outside the permutation");
  }
  auto value = static_cast<std::uint64_t>(index);
  do {
    value = encrypt(value);
  } while (value >= size_);
  return static_cast<std::int64_t>(value);
}

}  // namespace shardgpt
