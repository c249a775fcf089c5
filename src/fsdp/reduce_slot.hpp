#pragma once

#include <cstddef>
#include <memory>

#include "device/device.hpp"
#include "dist/collectives.hpp"

namespace shardgpt {

/// A buffer that takes one unit's unsharded FP32 gradient from compute and is reduce-scattered from.
/// free -> written -> reducing -> free; any other order throws std::logic_error.
class ReduceSlot {
 public:
  ReduceSlot(Device& device, std::size_t capacity);

  /// `compute` waits until the slot's last reduce-scatter is done; returns where it may write `elements`
  /// then. What lies behind them up to `padded` is zeroed: another unit may have been there. With `in_place`
  /// the gradient goes there instead of into the slot: the shard of a single rank, which only compute uses.
  [[nodiscard]] float* begin_write(std::size_t elements, std::size_t padded, Stream& compute,
                                   float* in_place = nullptr);
  /// Issues the reduce-scatter to `reduce` behind what compute has written: the sum over ranks of this rank's
  /// piece of `count` elements replaces `shard` or is added to it.
  void reduce(float* shard, std::size_t count, bool accumulate, Collectives& collectives, Stream& compute,
              Stream& reduce);

 private:
  enum class State { free, writing };

  Device& device_;
  Buffer buffer_;
  float* written_to_ = nullptr;
  std::unique_ptr<Event> written_;
  std::unique_ptr<Event> reduced_;
  State state_ = State::free;
};

}  // namespace shardgpt
