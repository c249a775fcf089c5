#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "device/device.hpp"
#include "dist/collectives.hpp"
#include "fsdp/sharded_units.hpp"
#include "kernels/ops.hpp"
#include "model/gpt2.hpp"
#include "model/tensor_table.hpp"
#include "optim/adamw.hpp"
#include "tokens/batch.hpp"
#include "train/shard_piece.hpp"
#include "train/shard_staging.hpp"

namespace shardgpt {

struct TrainerOptions {
  std::int64_t seq_len = 0;
  std::int64_t global_batch = 0;  ///< B: sequences per optimizer step over all ranks
  std::int64_t micro_batch = 0;   ///< b: sequences per rank and micro-batch
  int unshard_slots = 2;
  Recompute recompute = Recompute::none;
  double clip = 1.0;  ///< largest gradient norm; 0: no clipping
  AdamWOptions adamw = {};
  bool decay_all = false;  ///< decay every tensor, not only those of two or more dimensions
  bool staging = false;    ///< hold memory for stage_shards
};

/// What one optimizer step did, the same on all ranks.
struct StepReport {
  std::int64_t step = 0;
  double lr = 0;
  StepScalars scalars;
};

/// Counters of the optimizer that a checkpoint keeps.
struct OptimizerCounters {
  std::int64_t adam_step = 0;
  std::int64_t skipped = 0;
};

/// Micro-batches that every rank runs per step: ceil(ceil(B / N) / b).
[[nodiscard]] std::int64_t micro_batches_per_step(std::int64_t global_batch, std::int64_t micro_batch,
                                                  int ranks);

/// Training and evaluation of a sharded GPT-2: composes model, sharded units, optimizer and collectives into
/// steps. All ranks call the same methods in the same order. submit_* only issue work; collect waits.
class Trainer {
 public:
  Trainer(Device& device, Ops& ops, Collectives& collectives, const TensorTable& table,
          const TrainerOptions& options);
  ~Trainer();

  /// Fills master weights from the table's initialisers.
  void initialize(std::uint64_t seed);
  /// This rank's shards in memory that the host can read and write; waits until the device is idle. On the
  /// CPU they are the shards themselves; of a CUDA device they are a copy, in the memory that stage_shards
  /// uses too.
  [[nodiscard]] std::vector<ShardPiece> shards();
  /// Makes what was written through the last shards() the state that the next step starts from.
  void store_shards();
  void set_counters(const OptimizerCounters& counters);

  /// Issues one optimizer step on this rank's rows of the batch. `signals` are summed over ranks into the
  /// report.
  void submit_step(std::int64_t step, const Batch& batch, double lr, const StepSignals& signals);
  /// Steps submitted and not collected.
  [[nodiscard]] std::int64_t pending() const { return static_cast<std::int64_t>(pending_.size()); }
  /// Waits for the oldest pending step.
  [[nodiscard]] StepReport collect();

  /// Issues a copy of the shards, as the steps submitted so far leave them, to host memory: beside the next
  /// step, whose updates wait for it. The copy made before must not be in use any more.
  void stage_shards();
  /// What stage_shards copies to. Only with TrainerOptions::staging.
  [[nodiscard]] const ShardStaging& staging() const { return staging_.value(); }

  /// Issues the forward pass over this rank's rows of one evaluation batch of `global_rows` rows over all
  /// ranks.
  void submit_evaluation(const Batch& batch, std::int64_t global_rows);
  /// Mean loss per target over all ranks and all batches submitted since the last call.
  [[nodiscard]] double collect_evaluation();

  [[nodiscard]] const ShardedUnits& units() const { return units_; }
  [[nodiscard]] ShardedUnits& units() { return units_; }

 private:
  struct Pending;

  /// Calls `run` for each of `count` micro-batches with its rows of `batch`; the last ones may be short or
  /// empty.
  template <class Run>
  void for_micro_batches(const Batch& batch, std::int64_t count, Run&& run);
  void all_reduce(StepSums* sums);
  void synchronize();
  /// In device memory.
  [[nodiscard]] std::vector<ShardPiece> shard_pieces();
  /// Page-locked room for a step's scalars, so that their way to the host holds up nobody.
  [[nodiscard]] Buffer take_report_memory();

  Device& device_;
  Ops& ops_;
  Collectives& collectives_;
  Stream& compute_;
  Stream& reduce_;
  const TensorTable& table_;
  TrainerOptions options_;
  ShardedUnits units_;
  AdamW adamw_;
  Gpt2 model_;
  std::optional<ShardStaging> staging_;
  Buffer sums_memory_;
  StepSums* step_sums_ = nullptr;
  StepSums* evaluation_sums_ = nullptr;
  double* norms_ = nullptr;  // [units]
  StepScalars* scalars_ = nullptr;
  std::unique_ptr<Event> sums_ready_;
  std::unique_ptr<Event> sums_reduced_;
  std::vector<Buffer> report_memory_;  // of steps that were collected
  std::deque<std::unique_ptr<Pending>> pending_;
};

}  // namespace shardgpt
