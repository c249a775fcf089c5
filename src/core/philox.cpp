#include "core/philox.hpp"

#include <cmath>
#include <numbers>

namespace shardgpt {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t multiplier0 = 0xD2511F53U;
  constexpr std::uint64_t multiplier1 = 0xCD9E8D57U;
  constexpr std::uint32_t weyl0 = 0x9E3779B9U;
  constexpr std::uint32_t weyl1 = 0xBB67AE85U;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = multiplier0 * counter[0];
    const std::uint64_t product1 = multiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32U) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32U) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += weyl0;
    key[1] += weyl1;
  }
  return counter;
}

std::array<std::uint32_t, 4> RandomStream::words(std::uint64_t element) const {
  return philox4x32({static_cast<std::uint32_t>(element), static_cast<std::uint32_t>(element >> 32U), stream_,
                     static_cast<std::uint32_t>(purpose_)},
                    {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32U)});
}

double RandomStream::uniform(std::uint64_t element) const {
  const auto random = words(element);
  const std::uint64_t bits = (static_cast<std::uint64_t>(random[0]) << 20U) ^ (random[1] >> 12U);
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

double RandomStream::normal(std::uint64_t element) const {
  const auto random = words(element);
  const double u = (static_cast<double>(random[0]) + 0.5) * 0x1p-32;
  const double v = (static_cast<double>(random[1]) + 0.5) * 0x1p-32;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

}  // namespace shardgpt
