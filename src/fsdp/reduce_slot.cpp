#include "fsdp/reduce_slot.hpp"

#include <stdexcept>

namespace shardgpt {

ReduceSlot::ReduceSlot(Device& device, std::size_t capacity)
    : device_(device),
      buffer_(device.allocate(capacity * sizeof(float), "reduce slots")),
      written_(device.make_event()),
      reduced_(device.make_event()) {}

float* ReduceSlot::begin_write(std::size_t elements, std::size_t padded, Stream& compute, float* in_place) {
  if (state_ != State::free) {
    throw std::logic_error("write into a reduce slot in use");
  }
  compute.wait(*reduced_, "reduce slot free");
  written_to_ = in_place != nullptr ? in_place : buffer_.as<float>();
  device_.fill_zero(written_to_ + elements, (padded - elements) * sizeof(float), compute);
  state_ = State::writing;
  return written_to_;
}

void ReduceSlot::reduce(float* shard, std::size_t count, bool accumulate, Collectives& collectives,
                        Stream& compute, Stream& reduce) {
  if (state_ != State::writing) {
    throw std::logic_error("reduce of a slot that was not written");
  }
  compute.record(*written_);
  reduce.wait(*written_, "gradients written");
  collectives.reduce_scatter(written_to_, shard, count, accumulate, reduce);
  reduce.record(*reduced_);
  state_ = State::free;
}

}  // namespace shardgpt
