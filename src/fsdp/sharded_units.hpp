#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "device/device.hpp"
#include "dist/collectives.hpp"
#include "fsdp/reduce_slot.hpp"
#include "fsdp/shard_plan.hpp"
#include "fsdp/unshard_slot.hpp"

namespace shardgpt {

struct ShardedUnitsOptions {
  DType compute_type = DType::bf16;  ///< of gathered parameters
  int unshard_slots = 2;             ///< blocks that may be unsharded at once; at least 2
  /// Elements the gathered root buffer must have at least; what lies past the root stays zero.
  std::int64_t root_capacity = 0;
};

/// What the schedule did so far, for tests and reports.
struct ScheduleCounters {
  std::int64_t block_gathers = 0;
  std::int64_t root_gathers = 0;
  std::int64_t peak_unsharded_blocks = 0;
};

/// Fully sharded units and their schedule: unit 0 is the root, units 1..L are blocks that run in order
/// forward and in reverse order backward. Master weights and gradients live as FP32 shards; gathered
/// parameters exist in a few slots. All methods only issue work (compute, gather and reduce streams of the
/// device), in the same order on every rank. Knows no model: bodies issue the computation.
class ShardedUnits {
 public:
  /// `params` of a unit are gathered elements in the compute type.
  using ForwardBody = std::function<void(std::int64_t block, const void* params)>;
  /// `grads` is the block's unsharded FP32 gradient, to be overwritten whole.
  using BackwardBody = std::function<void(std::int64_t block, const void* params, float* grads)>;

  ShardedUnits(Device& device, Collectives& collectives, std::span<const std::int64_t> unit_elements,
               const ShardedUnitsOptions& options);

  [[nodiscard]] std::span<const UnitPlan> plan() const { return plan_; }
  [[nodiscard]] std::int64_t units() const { return static_cast<std::int64_t>(plan_.size()); }
  [[nodiscard]] int rank() const { return collectives_.rank(); }
  [[nodiscard]] int ranks() const { return collectives_.size(); }
  /// This rank's piece of a unit: plan()[unit].piece floats, padding zero. Written by the optimizer on
  /// compute.
  [[nodiscard]] float* master(std::int64_t unit) { return masters_[index(unit)].as<float>(); }
  [[nodiscard]] float* grad(std::int64_t unit) { return grads_[index(unit)].as<float>(); }

  /// Starts a step: gradients begin at zero.
  void begin_step();
  /// Parameters of the root for the current update, on compute. Gathered at most once per update.
  [[nodiscard]] UnshardSlot::Lease acquire_root();
  /// The root's unsharded gradient, summed over the step by compute; capacity as given in the options. A
  /// single rank's is its shard.
  [[nodiscard]] float* root_grad() { return alone() ? grad(0) : root_grad_.as<float>(); }
  /// All blocks in order; the next block's gather is issued before each body.
  void forward(const ForwardBody& body);
  /// All blocks in reverse, behind a forward pass; each block's gradient is reduce-scattered into its shard.
  void backward(const BackwardBody& body);
  /// Reduce-scatters the root's gradient, then lets compute wait for all gradient shards. Ends the last
  /// micro-batch.
  void finish_gradients();
  /// Compute has updated `unit`'s master weights: its next gather may start behind this point.
  void unit_updated(std::int64_t unit);
  /// Recorded by unit_updated.
  [[nodiscard]] const Event& params_ready(std::int64_t unit) const { return *params_ready_[index(unit)]; }
  /// All units are updated: gathered copies are out of date from here on.
  void end_update() { ++update_; }

  [[nodiscard]] const ScheduleCounters& counters() const { return counters_; }

 private:
  static std::size_t index(std::int64_t unit) { return static_cast<std::size_t>(unit); }
  [[nodiscard]] UnitVersion version(std::int64_t unit) const { return {unit, update_}; }
  [[nodiscard]] std::int64_t blocks() const { return units() - 1; }
  /// A single rank's gradients need no reduction: they are written where they stay.
  [[nodiscard]] bool alone() const { return ranks() == 1; }
  UnshardSlot& slot_of(std::int64_t block) { return slots_[index(block % std::ssize(slots_))]; }
  void prefetch_block(std::int64_t block);
  [[nodiscard]] std::size_t piece(std::int64_t unit) const {
    return static_cast<std::size_t>(plan_[index(unit)].piece);
  }

  Device& device_;
  Collectives& collectives_;
  Stream& compute_;
  Stream& gather_;
  Stream& reduce_;
  std::vector<UnitPlan> plan_;
  std::vector<Buffer> masters_;
  std::vector<Buffer> grads_;
  std::vector<std::unique_ptr<Event>> params_ready_;
  UnshardSlot root_slot_;
  std::vector<UnshardSlot> slots_;
  std::vector<ReduceSlot> reduce_slots_;
  Buffer root_grad_;  // none on a single rank
  std::unique_ptr<Event> root_grad_written_;
  std::unique_ptr<Event> root_grad_reduced_;
  std::int64_t update_ = 0;
  std::int64_t micro_batches_ = 0;  // backward passes since begin_step
  std::size_t next_reduce_slot_ = 0;
  ScheduleCounters counters_;
};

}  // namespace shardgpt
