#pragma once

#include <array>
#include <cstdint>

#include "tests/cuda_on_host/exec/options.hpp"
#include "tests/cuda_on_host/exec/random.hpp"

namespace cuda_on_host {

inline constexpr unsigned lanes_of_warp = 32;
inline constexpr unsigned max_threads_of_block = 1024;
inline constexpr unsigned max_warps_of_block = max_threads_of_block / lanes_of_warp;

/// The threads of a block that can run, and which of them is next: a bit per warp and per lane.
class ReadySet {
 public:
  explicit ReadySet(const Options& options) : order_(options.order), random_(options.seed) {}

  void clear() {
    running_ = {};
    upcoming_ = {};
    last_warp_ = 0;
  }
  void add_lanes(unsigned warp, std::uint32_t lanes) {
    (order_ == ThreadOrder::ascending ? upcoming_ : running_).add(warp, lanes);
  }
  void add(unsigned thread) { add_lanes(thread / lanes_of_warp, 1U << thread % lanes_of_warp); }
  /// Removes the thread to run next and returns its index; -1: none is ready.
  int take();
  Random& random() { return random_; }

 private:
  struct Round {
    void add(unsigned warp, std::uint32_t lanes_to_add) {
      lanes[warp] |= lanes_to_add;
      warps |= 1U << warp;
    }
    std::uint32_t warps = 0;
    std::array<std::uint32_t, max_warps_of_block> lanes{};
  };

  Round running_;
  Round upcoming_;  ///< of ThreadOrder::ascending: those that have run already in this round
  ThreadOrder order_;
  std::uint32_t last_warp_ = 0;  ///< the bit of the warp that ran last, 0 at the beginning
  Random random_;
};

}  // namespace cuda_on_host
