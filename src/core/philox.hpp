#pragma once

#include <array>
#include <cstdint>

namespace shardgpt {

/// Philox4x32-10, a counter-based generator: four 32-bit words as a pure function of a 128-bit counter and a
/// 64-bit key (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
[[nodiscard]] std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                      std::array<std::uint32_t, 2> key);

/// What a stream of random numbers is for; part of the counter, so that purposes never share numbers.
enum class RandomPurpose : std::uint32_t { weight_init = 1, data_order = 2, sampling = 3, test = 4 };

/// Random numbers addressed by (seed, purpose, stream, element): nothing to save, the same for any rank
/// count.
class RandomStream {
 public:
  /// `stream` is a tensor index, a step or an epoch.
  RandomStream(std::uint64_t seed, RandomPurpose purpose, std::uint32_t stream)
      : seed_(seed), purpose_(purpose), stream_(stream) {}

  [[nodiscard]] std::array<std::uint32_t, 4> words(std::uint64_t element) const;
  /// Uniform in (0, 1).
  [[nodiscard]] double uniform(std::uint64_t element) const;
  /// Standard normal (Box-Muller on one counter).
  [[nodiscard]] double normal(std::uint64_t element) const;

 private:
  std::uint64_t seed_;
  RandomPurpose purpose_;
  std::uint32_t stream_;
};

}  // namespace shardgpt
