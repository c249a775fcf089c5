#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/host/host_device.hpp"
#include "dist/mpi/mpi_collectives.hpp"
#include "optim/schedule.hpp"
#include "tests/support/mpi_test.hpp"
#include "tests/support/reference_case.hpp"
#include "train/trainer.hpp"

namespace shardgpt::test {

using MakeOps = std::function<std::unique_ptr<Ops>(Device&, DType, const OpsLimits&)>;

/// Puts something around the collectives of a trainer.
using WrapCollectives = std::function<std::unique_ptr<Collectives>(std::unique_ptr<Collectives>)>;

/// Whether a trainer has memory to stage its shards.
enum class Staging { no, yes };

/// A trainer of a reference case on all ranks of the session, its weights loaded.
class CaseTrainer {
 public:
  CaseTrainer(const ReferenceCase& reference, const MakeOps& make_ops, DType dtype, std::int64_t micro_batch,
              std::shared_ptr<HostStreamHooks> hooks = nullptr, int unshard_slots = 2,
              const WrapCollectives& wrap = nullptr, Staging staging = Staging::no,
              Recompute recompute = Recompute::none)
      : reference_(reference),
        world_(session().world()),
        table_(reference.config),
        device_(make_host_device({.compute_threads = 1, .hooks = std::move(hooks)})),
        ops_(make_ops(*device_, dtype,
                      {.max_rows = micro_batch,
                       .seq_len = reference.seq_len,
                       .embd = reference.config.embd,
                       .heads = reference.config.heads,
                       .padded_vocab = padded_vocab(reference.config)})),
        collectives_(make_mpi_collectives(world_, std::chrono::seconds(60))) {
    if (wrap) {
      collectives_ = wrap(std::move(collectives_));
    }
    const auto& hyper = reference.expected["adamw"]["hyper"];
    schedule_.lr = hyper["lr"];
    schedule_.min_lr = hyper["min_lr"];
    schedule_.warmup_steps = hyper["warmup_steps"];
    schedule_.total_steps = hyper["steps"];
    trainer_ = std::make_unique<Trainer>(*device_, *ops_, *collectives_, table_,
                                         TrainerOptions{.seq_len = reference.seq_len,
                                                        .global_batch = reference.rows,
                                                        .micro_batch = micro_batch,
                                                        .unshard_slots = unshard_slots,
                                                        .recompute = recompute,
                                                        .clip = hyper["clip"],
                                                        .adamw = {.beta1 = hyper["beta1"],
                                                                  .beta2 = hyper["beta2"],
                                                                  .eps = hyper["eps"],
                                                                  .weight_decay = hyper["weight_decay"]},
                                                        .staging = staging == Staging::yes});
    load(reference.model);
  }

  [[nodiscard]] Trainer& trainer() { return *trainer_; }
  [[nodiscard]] Device& device() { return *device_; }
  [[nodiscard]] Stream& compute() { return device_->stream(StreamRole::compute); }
  [[nodiscard]] const TensorTable& table() const { return table_; }
  [[nodiscard]] double lr(std::int64_t step) const { return schedule_.at(step); }

  /// This rank's rows of `step`.
  [[nodiscard]] Batch batch(std::int64_t step) const {
    return reference_.batch(step, reference_.rows * world_.rank() / world_.size(),
                            reference_.rows * (world_.rank() + 1) / world_.size());
  }
  StepReport step(std::int64_t step) {
    trainer_->submit_step(step, batch(step), lr(step), {});
    return trainer_->collect();
  }
  /// Master weights of all ranks by tensor name.
  [[nodiscard]] NamedTensors weights() {
    return gathered([](const ShardPiece& piece) { return piece.param; });
  }
  /// Gradients of the last step by tensor name, not divided.
  [[nodiscard]] NamedTensors gradients() {
    return gathered([this](const ShardPiece& piece) {
      return std::span<float>(trainer_->units().grad(piece.unit), piece.param.size());
    });
  }
  void for_each_master(const std::function<void(float&)>& change) {
    for (const ShardPiece& piece : trainer_->shards()) {
      std::ranges::for_each(piece.param, change);
    }
  }

 private:
  void load(const NamedTensors& values) {
    for (const ShardPiece& piece : trainer_->shards()) {
      const UnitSpec& unit = table_.units()[static_cast<std::size_t>(piece.unit)];
      for (const TensorSpec& tensor : table_.tensors_of(unit)) {
        for (std::int64_t i = 0; i < tensor.elements; ++i) {
          const std::int64_t at = tensor.offset + i - piece.begin;
          if (at >= 0 && at < std::ssize(piece.param)) {
            piece.param[static_cast<std::size_t>(at)] =
                static_cast<float>(values.at(tensor.name)[static_cast<std::size_t>(i)]);
          }
        }
      }
    }
  }

  template <class Values>
  [[nodiscard]] NamedTensors gathered(Values&& values_of) {
    NamedTensors result;
    for (const ShardPiece& piece : trainer_->shards()) {
      const UnitSpec& unit = table_.units()[static_cast<std::size_t>(piece.unit)];
      std::vector<double> all(static_cast<std::size_t>(unit.elements));
      std::ranges::copy(values_of(piece), all.begin() + piece.begin);
      MPI_Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(all.size()), MPI_DOUBLE, MPI_SUM,
                    world_.raw());
      for (const TensorSpec& tensor : table_.tensors_of(unit)) {
        result[tensor.name].assign(all.begin() + tensor.offset,
                                   all.begin() + tensor.offset + tensor.elements);
      }
    }
    return result;
  }

  const ReferenceCase& reference_;
  const MpiComm& world_;
  TensorTable table_;
  LearningRateSchedule schedule_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Collectives> collectives_;
  std::unique_ptr<Trainer> trainer_;
};

/// Norm of the difference over norm.
inline double relative_difference(const std::vector<double>& found, const std::vector<double>& wanted) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    difference += (found[i] - wanted[i]) * (found[i] - wanted[i]);
    norm += wanted[i] * wanted[i];
  }
  return std::sqrt(difference / norm);
}

inline double relative_difference(double found, double wanted) {
  return std::abs(found - wanted) / std::abs(wanted);
}

}  // namespace shardgpt::test
