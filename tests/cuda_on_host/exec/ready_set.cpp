#include "tests/cuda_on_host/exec/ready_set.hpp"

#include <bit>
#include <utility>

namespace cuda_on_host {

namespace {

unsigned lowest(std::uint32_t bits) {
  return static_cast<unsigned>(std::countr_zero(bits));
}

unsigned highest(std::uint32_t bits) {
  return 31U - static_cast<unsigned>(std::countl_zero(bits));
}

unsigned any(std::uint32_t bits, Random& random) {
  const unsigned turn = random.next() & 31U;
  return (lowest(std::rotr(bits, static_cast<int>(turn))) + turn) & 31U;
}

}  // namespace

int ReadySet::take() {
  if (running_.warps == 0) {
    if (upcoming_.warps == 0) {
      return -1;
    }
    std::swap(running_, upcoming_);
  }
  // A warp runs ahead as long as it can.
  const std::uint32_t ahead = running_.warps & last_warp_;
  unsigned warp = 0;
  unsigned lane = 0;
  switch (order_) {
    case ThreadOrder::ascending:
      warp = lowest(running_.warps);
      lane = lowest(running_.lanes[warp]);
      break;
    case ThreadOrder::newest_first:
      warp = highest(ahead != 0 ? ahead : running_.warps);
      lane = highest(running_.lanes[warp]);
      break;
    case ThreadOrder::random:
      warp = ahead != 0 ? lowest(ahead) : any(running_.warps, random_);
      lane = any(running_.lanes[warp], random_);
      break;
  }
  running_.lanes[warp] &= ~(1U << lane);
  if (running_.lanes[warp] == 0) {
    running_.warps &= ~(1U << warp);
  }
  last_warp_ = 1U << warp;
  return static_cast<int>(warp * lanes_of_warp + lane);
}

}  // namespace cuda_on_host
