#include "fsdp/sharded_units.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace shardgpt {
namespace {

constexpr std::size_t reduce_slot_count = 2;

std::size_t largest_block(std::span<const UnitPlan> plan, int ranks) {
  std::int64_t largest = 0;
  for (const UnitPlan& unit : plan.subspan(1)) {
    largest = std::max(largest, unit.padded(ranks));
  }
  return static_cast<std::size_t>(largest);
}

std::size_t root_elements(std::span<const UnitPlan> plan, int ranks, const ShardedUnitsOptions& options) {
  return static_cast<std::size_t>(std::max(plan[0].padded(ranks), options.root_capacity));
}

}  // namespace

ShardedUnits::ShardedUnits(Device& device, Collectives& collectives,
                           std::span<const std::int64_t> unit_elements, const ShardedUnitsOptions& options)
    : device_(device),
      collectives_(collectives),
      compute_(device.stream(StreamRole::compute)),
      gather_(device.stream(StreamRole::gather)),
      reduce_(device.stream(StreamRole::reduce)),
      plan_(make_shard_plan(unit_elements, collectives.size())),
      root_slot_(device, options.compute_type, root_elements(plan_, collectives.size(), options)),
      root_grad_written_(device.make_event()),
      root_grad_reduced_(device.make_event()) {
  if (options.unshard_slots < 2) {
    throw std::logic_error("prefetch needs two unshard slots at least");
  }
  const std::size_t root = root_elements(plan_, collectives.size(), options);
  if (!alone()) {
    root_grad_ = device.allocate(root * sizeof(float), "root gradient");
  }
  for (const UnitPlan& unit : plan_) {
    const auto elements = static_cast<std::size_t>(unit.piece);
    masters_.push_back(device.allocate(elements * sizeof(float), "master weights"));
    const bool unsharded_root = alone() && grads_.empty();
    grads_.push_back(device.allocate((unsharded_root ? root : elements) * sizeof(float), "gradient shards"));
    params_ready_.push_back(device.make_event());
  }
  const std::size_t block_capacity = largest_block(plan_, collectives.size());
  for (int slot = 0; slot < options.unshard_slots; ++slot) {
    slots_.emplace_back(device, options.compute_type, block_capacity);
  }
  for (std::size_t slot = 0; slot < reduce_slot_count; ++slot) {
    reduce_slots_.emplace_back(device, block_capacity);
  }
}

void ShardedUnits::begin_step() {
  micro_batches_ = 0;
  const Buffer& root = alone() ? grads_[0] : root_grad_;
  device_.fill_zero(root.data(), root.bytes(), compute_);
}

UnshardSlot::Lease ShardedUnits::acquire_root() {
  if (root_slot_.prefetch(version(0), *params_ready_[0], master(0), piece(0), collectives_, gather_)) {
    ++counters_.root_gathers;
  }
  return root_slot_.acquire(version(0), compute_);
}

void ShardedUnits::prefetch_block(std::int64_t block) {
  const std::int64_t unit = block + 1;
  if (slot_of(block).prefetch(version(unit), *params_ready_[index(unit)], master(unit), piece(unit),
                              collectives_, gather_)) {
    ++counters_.block_gathers;
  }
  const auto occupied =
      std::ranges::count_if(slots_, [](const UnshardSlot& slot) { return slot.occupied(); });
  counters_.peak_unsharded_blocks =
      std::max(counters_.peak_unsharded_blocks, static_cast<std::int64_t>(occupied));
}

void ShardedUnits::forward(const ForwardBody& body) {
  const std::int64_t ahead = std::ssize(slots_) - 1;
  for (std::int64_t block = 0; block < std::min(ahead, blocks()); ++block) {
    prefetch_block(block);
  }
  for (std::int64_t block = 0; block < blocks(); ++block) {
    if (block + ahead < blocks()) {
      prefetch_block(block + ahead);
    }
    const UnshardSlot::Lease lease = slot_of(block).acquire(version(block + 1), compute_);
    body(block, lease.params());
  }
}

void ShardedUnits::backward(const BackwardBody& body) {
  const std::int64_t ahead = std::ssize(slots_) - 1;
  for (std::int64_t block = blocks() - 1; block >= std::max<std::int64_t>(0, blocks() - ahead); --block) {
    prefetch_block(block);  // resident after a forward pass
  }
  for (std::int64_t block = blocks() - 1; block >= 0; --block) {
    UnshardSlot::Lease lease = slot_of(block).acquire(version(block + 1), compute_);
    // Before this block's reduce-scatter: collectives run in issue order, and the next block waits for this
    // one.
    if (block - ahead >= 0) {
      prefetch_block(block - ahead);
    }
    ReduceSlot& slot =
        reduce_slots_[std::exchange(next_reduce_slot_, (next_reduce_slot_ + 1) % reduce_slot_count)];
    const UnitPlan& plan = plan_[index(block + 1)];
    const bool first = micro_batches_ == 0;
    body(block, lease.params(),
         slot.begin_write(index(plan.elements), index(plan.padded(ranks())), compute_,
                          alone() && first ? grad(block + 1) : nullptr));
    lease.release();
    slot.reduce(grad(block + 1), piece(block + 1), !first, collectives_, compute_, reduce_);
  }
  ++micro_batches_;
}

void ShardedUnits::finish_gradients() {
  compute_.record(*root_grad_written_);
  reduce_.wait(*root_grad_written_, "root gradient written");
  collectives_.reduce_scatter(root_grad(), grad(0), piece(0), /*accumulate=*/false, reduce_);
  reduce_.record(*root_grad_reduced_);
  compute_.wait(*root_grad_reduced_, "gradients reduced");  // the reduce stream is in order: the blocks' too
}

void ShardedUnits::unit_updated(std::int64_t unit) {
  compute_.record(*params_ready_[index(unit)]);
}

}  // namespace shardgpt
