#include "fsdp/unshard_slot.hpp"

#include <stdexcept>

namespace shardgpt {

UnshardSlot::UnshardSlot(Device& device, DType type, std::size_t capacity)
    : device_(device),
      type_(type),
      buffer_(device.allocate(capacity * dtype_bytes(type), "unshard slots")),
      gathered_(device.make_event()),
      released_(device.make_event()) {}

bool UnshardSlot::prefetch(UnitVersion wanted, const Event& params_ready, const float* shard,
                           std::size_t count, Collectives& collectives, Stream& gather) {
  if (holds(wanted)) {
    return false;  // still resident, or already under way
  }
  if (state_ != State::free && state_ != State::resident) {
    throw std::logic_error("prefetch into an unshard slot in use");
  }
  if (count * dtype_bytes(type_) * static_cast<std::size_t>(collectives.size()) > buffer_.bytes()) {
    throw std::logic_error("unit larger than its unshard slot");
  }
  gather.wait(*released_, "slot released");
  gather.wait(params_ready, "params ready");
  auto* own_piece =
      buffer_.as<std::byte>() + count * dtype_bytes(type_) * static_cast<std::size_t>(collectives.rank());
  device_.cast(own_piece, type_, shard, count, gather);
  collectives.all_gather_in_place(buffer_.data(), type_, count, gather);
  gather.record(*gathered_);
  content_ = wanted;
  state_ = State::gathered;
  return true;
}

UnshardSlot::Lease UnshardSlot::acquire(UnitVersion wanted, Stream& compute) {
  if (!holds(wanted)) {
    throw std::logic_error("acquire of a unit that was not gathered");
  }
  if (state_ == State::leased) {
    throw std::logic_error("acquire of a unit that is leased already");
  }
  compute.wait(*gathered_, "gathered");
  state_ = State::leased;
  return {*this, compute};
}

void UnshardSlot::Lease::release() {
  if (slot_ != nullptr) {
    compute_->record(*slot_->released_);
    slot_->state_ = State::resident;
    slot_ = nullptr;
  }
}

}  // namespace shardgpt
