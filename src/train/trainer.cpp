#include "train/trainer.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/checked.hpp"

namespace shardgpt {
namespace {

std::vector<std::int64_t> unit_elements(const TensorTable& table) {
  std::vector<std::int64_t> elements;
  for (const UnitSpec& unit : table.units()) {
    elements.push_back(unit.elements);
  }
  return elements;
}

std::vector<std::int64_t> shard_elements(const ShardedUnits& units) {
  std::vector<std::int64_t> elements;
  for (const UnitPlan& unit : units.plan()) {
    elements.push_back(unit.piece);
  }
  return elements;
}

/// Cuts this rank's logical piece of each unit where the decay changes.
std::vector<std::vector<DecayRun>> decay_runs(const TensorTable& table, const ShardedUnits& units,
                                              bool decay_all) {
  std::vector<std::vector<DecayRun>> runs(table.units().size());
  for (std::size_t unit = 0; unit < runs.size(); ++unit) {
    const UnitPlan& plan = units.plan()[unit];
    const std::int64_t begin = plan.begin(units.rank());
    const std::int64_t end = begin + plan.count(units.rank());
    for (const TensorSpec& tensor : table.tensors_of(table.units()[unit])) {
      const std::int64_t first = std::max(begin, tensor.offset);
      const std::int64_t last = std::min(end, tensor.offset + tensor.elements);
      if (first >= last) {
        continue;
      }
      const bool decay = tensor.decay || decay_all;
      if (!runs[unit].empty() && runs[unit].back().decay == decay) {
        runs[unit].back().count += last - first;
      } else {
        runs[unit].push_back({first - begin, last - first, decay});
      }
    }
  }
  return runs;
}

}  // namespace

std::int64_t micro_batches_per_step(std::int64_t global_batch, std::int64_t micro_batch, int ranks) {
  return ceil_div(ceil_div<std::int64_t>(global_batch, ranks), micro_batch);
}

/// A step whose scalars are on their way to the host.
struct Trainer::Pending {
  std::int64_t step = 0;
  double lr = 0;
  Buffer scalars;
  std::unique_ptr<Event> arrived;
};

Trainer::Trainer(Device& device, Ops& ops, Collectives& collectives, const TensorTable& table,
                 const TrainerOptions& options)
    : device_(device),
      ops_(ops),
      collectives_(collectives),
      compute_(device.stream(StreamRole::compute)),
      reduce_(device.stream(StreamRole::reduce)),
      table_(table),
      options_(options),
      units_(device, collectives, unit_elements(table),
             {.compute_type = ops.dtype(),
              .unshard_slots = options.unshard_slots,
              .root_capacity = Gpt2::root_capacity(table)}),
      adamw_(device, ops, options.adamw, shard_elements(units_),
             decay_runs(table, units_, options.decay_all)),
      model_(device, ops, table,
             {.max_rows = options.micro_batch,
              .seq_len = options.seq_len,
              .use = ActivationUse::training,
              .recompute = options.recompute}),
      sums_memory_(device.allocate(2 * sizeof(StepSums) + sizeof(StepScalars) +
                                       static_cast<std::size_t>(units_.units()) * sizeof(double),
                                   "sums")),
      sums_ready_(device.make_event()),
      sums_reduced_(device.make_event()) {
  step_sums_ = sums_memory_.as<StepSums>();
  evaluation_sums_ = step_sums_ + 1;
  scalars_ = reinterpret_cast<StepScalars*>(evaluation_sums_ + 1);
  norms_ = reinterpret_cast<double*>(scalars_ + 1);
  if (options.staging) {
    staging_.emplace(device, shard_pieces());
  }
}

Trainer::~Trainer() {
  try {
    synchronize();  // queued work refers to members
  } catch (const std::exception&) {
    // The device has failed and runs nothing more; whoever waits for a result is told.
  }
}

void Trainer::synchronize() {
  for (const StreamRole role :
       {StreamRole::compute, StreamRole::gather, StreamRole::reduce, StreamRole::copy}) {
    device_.stream(role).synchronize();
  }
}

void Trainer::initialize(std::uint64_t seed) {
  for (std::int64_t unit = 0; unit < units_.units(); ++unit) {
    const UnitPlan& plan = units_.plan()[static_cast<std::size_t>(unit)];
    std::vector<float> values(static_cast<std::size_t>(plan.piece));
    const std::int64_t count = plan.count(units_.rank());
    initialize_unit_piece(table_, unit, seed, plan.begin(units_.rank()),
                          std::span(values).first(static_cast<std::size_t>(count)));
    device_.upload(units_.master(unit), values.data(), values.size() * sizeof(float), compute_);
    units_.unit_updated(unit);
  }
  units_.end_update();
}

std::vector<ShardPiece> Trainer::shard_pieces() {
  std::vector<ShardPiece> pieces;
  for (std::int64_t unit = 0; unit < units_.units(); ++unit) {
    const UnitPlan& plan = units_.plan()[static_cast<std::size_t>(unit)];
    const auto count = static_cast<std::size_t>(plan.count(units_.rank()));
    pieces.push_back({unit,
                      plan.begin(units_.rank()),
                      {units_.master(unit), count},
                      {adamw_.adam_m(unit), count},
                      {adamw_.adam_v(unit), count}});
  }
  return pieces;
}

std::vector<ShardPiece> Trainer::shards() {
  synchronize();
  // The caller may write through the spans: what is gathered now may be out of date.
  units_.end_update();
  if (device_.kind() == DeviceKind::cpu) {
    return shard_pieces();
  }
  if (!staging_) {
    staging_.emplace(device_, shard_pieces());
  }
  stage_shards();
  staging_->wait();
  return {staging_->pieces().begin(), staging_->pieces().end()};
}

void Trainer::store_shards() {
  if (device_.kind() == DeviceKind::cpu) {
    return;
  }
  const auto store = [this](std::span<float> to, std::span<const float> from) {
    device_.upload(to.data(), from.data(), from.size_bytes(), compute_);
  };
  const std::vector<ShardPiece> pieces = shard_pieces();
  for (std::size_t unit = 0; unit < pieces.size(); ++unit) {
    const ShardPiece& from = staging_.value().pieces()[unit];
    store(pieces[unit].param, from.param);
    store(pieces[unit].adam_m, from.adam_m);
    store(pieces[unit].adam_v, from.adam_v);
    units_.unit_updated(pieces[unit].unit);
  }
}

Buffer Trainer::take_report_memory() {
  if (report_memory_.empty()) {
    return device_.allocate_host(sizeof(StepScalars), "step reports");
  }
  Buffer memory = std::move(report_memory_.back());
  report_memory_.pop_back();
  return memory;
}

void Trainer::stage_shards() {
  staging_.value().begin();
  for (std::int64_t unit = 0; unit < units_.units(); ++unit) {
    staging_->copy_unit(unit, units_.params_ready(unit));
  }
}

void Trainer::set_counters(const OptimizerCounters& counters) {
  StepScalars scalars;
  scalars.adam_step = counters.adam_step;
  scalars.skipped_total = counters.skipped;
  device_.upload(scalars_, &scalars, sizeof(scalars), compute_);
}

template <class Run>
void Trainer::for_micro_batches(const Batch& batch, std::int64_t count, Run&& run) {
  for (std::int64_t micro = 0; micro < count; ++micro) {
    const std::int64_t first = std::min(batch.rows, micro * options_.micro_batch);
    const std::int64_t last = std::min(batch.rows, first + options_.micro_batch);
    const auto offset = static_cast<std::size_t>(first * batch.seq_len);
    run(BatchShape{last - first, batch.seq_len}, batch.inputs.data() + offset, batch.targets.data() + offset);
  }
}

void Trainer::all_reduce(StepSums* sums) {
  compute_.record(*sums_ready_);
  reduce_.wait(*sums_ready_, "sums ready");
  collectives_.all_reduce_sum(reinterpret_cast<double*>(sums), step_sums_count, reduce_);
  reduce_.record(*sums_reduced_);
  compute_.wait(*sums_reduced_, "sums reduced");
}

void Trainer::submit_step(std::int64_t step, const Batch& batch, double lr, const StepSignals& signals) {
  const StepSums start{.loss = 0, .targets = 0, .grad_norm_squared = 0, .signals = signals};
  device_.upload(step_sums_, &start, sizeof(start), compute_);
  units_.begin_step();
  UnshardSlot::Lease root = units_.acquire_root();
  const std::int64_t micro_batches =
      micro_batches_per_step(options_.global_batch, options_.micro_batch, collectives_.size());
  for_micro_batches(
      batch, micro_batches, [&](BatchShape shape, const std::int32_t* inputs, const std::int32_t* targets) {
        model_.begin(shape, inputs, targets, root.params());
        units_.forward([&](std::int64_t block, const void* params) { model_.block_forward(block, params); });
        model_.head(root.params(), step_sums_, units_.root_grad());
        units_.backward([&](std::int64_t block, const void* params, float* grads) {
          model_.block_backward(block, params, grads);
        });
        model_.end(units_.root_grad());
      });
  root.release();
  units_.finish_gradients();

  for (std::int64_t unit = 0; unit < units_.units(); ++unit) {
    const UnitPlan& plan = units_.plan()[static_cast<std::size_t>(unit)];
    ops_.norm_squared(compute_, units_.grad(unit), plan.count(units_.rank()), norms_ + unit);
  }
  ops_.sum_norms(compute_, norms_, units_.units(), step_sums_);
  all_reduce(step_sums_);
  ops_.finish_step(compute_, step_sums_, options_.clip, scalars_);
  for (std::int64_t unit = 0; unit < units_.units(); ++unit) {
    if (staging_) {
      staging_->before_update(unit, compute_);
    }
    adamw_.update(unit, units_.master(unit), units_.grad(unit), lr, scalars_);
    units_.unit_updated(unit);
  }
  units_.end_update();

  auto pending = std::make_unique<Pending>();
  pending->step = step;
  pending->lr = lr;
  pending->arrived = device_.make_event();
  pending->scalars = take_report_memory();
  device_.download(pending->scalars.data(), scalars_, sizeof(StepScalars), compute_);
  compute_.record(*pending->arrived);
  pending_.push_back(std::move(pending));
}

StepReport Trainer::collect() {
  if (pending_.empty()) {
    throw std::logic_error("no step to collect");
  }
  pending_.front()->arrived->synchronize();
  const StepReport report{pending_.front()->step, pending_.front()->lr,
                          *pending_.front()->scalars.as<StepScalars>()};
  report_memory_.push_back(std::move(pending_.front()->scalars));
  pending_.pop_front();
  return report;
}

void Trainer::submit_evaluation(const Batch& batch, std::int64_t global_rows) {
  const UnshardSlot::Lease root = units_.acquire_root();
  const std::int64_t micro_batches =
      micro_batches_per_step(global_rows, options_.micro_batch, collectives_.size());
  for_micro_batches(
      batch, micro_batches, [&](BatchShape shape, const std::int32_t* inputs, const std::int32_t* targets) {
        model_.begin(shape, inputs, targets, root.params());
        units_.forward([&](std::int64_t block, const void* params) { model_.block_forward(block, params); });
        model_.head(root.params(), evaluation_sums_, nullptr);
      });
}

double Trainer::collect_evaluation() {
  all_reduce(evaluation_sums_);
  const Buffer memory = device_.allocate_host(sizeof(StepSums), "step reports");
  device_.download(memory.data(), evaluation_sums_, sizeof(StepSums), compute_);
  device_.fill_zero(evaluation_sums_, sizeof(StepSums), compute_);
  compute_.synchronize();
  const StepSums& sums = *memory.as<StepSums>();
  return sums.loss / sums.targets;
}

}  // namespace shardgpt
