#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "kernels/ops.hpp"
#include "model/activations.hpp"
#include "model/tensor_table.hpp"
#include "train/train_config.hpp"

namespace shardgpt {

/// What a run will do and need, computed without doing it; the same figures that the run itself uses.
struct TrainingPlan {
  int ranks = 1;
  DType dtype = DType::bf16;
  std::int64_t micro_batch = 0;
  std::int64_t micro_batches = 0;                 ///< per rank and step
  std::optional<std::int64_t> windows_per_epoch;  ///< unknown without data
  std::optional<std::int64_t> steps;              ///< of the whole run; unknown for --epochs without data
  struct Memory {
    std::string category;
    std::size_t bytes = 0;
    bool on_host = false;  ///< in page-locked host memory, where the device has memory of its own
  };
  std::vector<Memory> memory;  ///< of the rank with the most
  /// What of it lies on a device that has memory of its own.
  [[nodiscard]] std::size_t device_bytes() const;
  [[nodiscard]] std::size_t memory_per_rank() const;  ///< sum of `memory`
  std::size_t checkpoint_bytes = 0;
  double flops_per_token = 0;  ///< forward and backward
};

/// Sequences per rank and micro-batch: as given, or what a rank has, at most 4.
[[nodiscard]] std::int64_t choose_micro_batch(const DataOptions& data, int ranks);

[[nodiscard]] Recompute recompute_from_options(const DeviceOptions& options);

/// 6 P + 6 L C T: floating-point operations per token, forward and backward, causal attention counted as
/// half.
[[nodiscard]] double flops_per_token(const TensorTable& table, std::int64_t seq_len);

/// Sizes that the operations of a run must serve.
[[nodiscard]] OpsLimits ops_limits(const TrainConfig& config, const ModelConfig& model,
                                   std::int64_t micro_batch);

/// Whether saves go on beside training: asked for, possible (`thread_multiple`, MPI_THREAD_MULTIPLE on all
/// ranks), and of use: there are saves before the end. Then there is memory for a second copy of the shards.
[[nodiscard]] bool saves_beside_training(const RunOptions& options, bool thread_multiple);

/// What make_plan takes from this machine and the data.
struct PlanInputs {
  DType dtype = DType::bf16;
  std::size_t workspace_bytes = 0;                ///< what the operations allocate
  std::optional<std::int64_t> windows_per_epoch;  ///< unknown without data
  bool saves_beside_training = false;
};

[[nodiscard]] TrainingPlan make_plan(const TrainConfig& config, const TensorTable& table, int ranks,
                                     const PlanInputs& inputs);

/// The plan as a text of several lines.
[[nodiscard]] std::string describe_plan(const TrainingPlan& plan, const TrainConfig& config,
                                        const TensorTable& table);

/// "1.50 GiB".
[[nodiscard]] std::string format_bytes(std::size_t bytes);

}  // namespace shardgpt
