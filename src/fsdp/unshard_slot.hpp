#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "device/device.hpp"
#include "dist/collectives.hpp"

namespace shardgpt {

/// Which values of a unit: those after `update` optimizer steps.
struct UnitVersion {
  std::int64_t unit = -1;
  std::int64_t update = -1;
  friend bool operator==(UnitVersion, UnitVersion) = default;
};

/// A buffer that holds the gathered parameters of one unit at a time, in the layout that compute reads.
/// free -> gathered -> leased -> resident -> (gathered ...); any other order throws std::logic_error.
class UnshardSlot {
 public:
  /// Room for `capacity` elements of `type`; what lies past a gathered unit stays zero if it was never
  /// gathered into.
  UnshardSlot(Device& device, DType type, std::size_t capacity);

  /// The right to read the slot on the compute stream, until released or destroyed.
  class Lease {
   public:
    Lease(UnshardSlot& slot, Stream& compute) : slot_(&slot), compute_(&compute) {}
    Lease(Lease&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)), compute_(other.compute_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() { release(); }
    [[nodiscard]] const void* params() const { return slot_->buffer_.data(); }
    /// Records on compute that the last reader is done; the content stays resident.
    void release();

   private:
    UnshardSlot* slot_;
    Stream* compute_;
  };

  [[nodiscard]] bool holds(UnitVersion wanted) const { return state_ != State::free && content_ == wanted; }
  [[nodiscard]] bool occupied() const { return state_ != State::free; }

  /// Issues cast and all-gather of `wanted` to the gather stream, unless the slot holds it already. The
  /// stream waits for the slot's last reader and for `params_ready`. Returns whether a gather was issued.
  /// `shard` is this rank's piece of `count` master weights.
  bool prefetch(UnitVersion wanted, const Event& params_ready, const float* shard, std::size_t count,
                Collectives& collectives, Stream& gather);
  /// `compute` waits for the gather; then the parameters may be read there.
  [[nodiscard]] Lease acquire(UnitVersion wanted, Stream& compute);

 private:
  enum class State { free, gathered, leased, resident };

  Device& device_;
  DType type_;
  Buffer buffer_;
  std::unique_ptr<Event> gathered_;
  std::unique_ptr<Event> released_;
  State state_ = State::free;
  UnitVersion content_;
};

}  // namespace shardgpt
