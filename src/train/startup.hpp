#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "checkpoint/checkpoint_info.hpp"
#include "device/device.hpp"
#include "dist/mpi/mpi_session.hpp"
#include "kernels/ops.hpp"
#include "model/tensor_table.hpp"
#include "train/train_config.hpp"

namespace shardgpt {

/// Throws on all ranks where they were started with different options. Collective.
void require_same_options(const MpiComm& comm, const TrainConfig& config);

/// Refuses what this build or machine cannot do (--device, --cpu-offload, OMP_NUM_THREADS), the same on all
/// ranks. Collective.
void require_device(const MpiComm& comm, const DeviceOptions& options);

/// Compute threads of this rank: as given, else OMP_NUM_THREADS, else its share of the cores it may run on.
/// Collective.
[[nodiscard]] int choose_threads(const MpiComm& comm, const DeviceOptions& options);

[[nodiscard]] DType dtype_from_options(const DeviceOptions& options);

/// The operations on `device` that --kernels asks for.
[[nodiscard]] std::unique_ptr<Ops> make_ops(Device& device, const DeviceOptions& options,
                                            const OpsLimits& limits);

/// Bytes that make_ops allocates: found by making them, in memory that is never touched.
[[nodiscard]] std::size_t ops_workspace_bytes(const DeviceOptions& options, int threads,
                                              const OpsLimits& limits);

/// Where a run's model and weights come from.
struct ModelOrigin {
  ModelConfig model;
  std::optional<CheckpointInfo> resume;  ///< go on from this checkpoint
  std::optional<CheckpointInfo> init;    ///< take the weights of this one
  std::filesystem::path hf_folder;       ///< or of this Hugging Face folder; empty: neither
};

/// Decides the model: of the checkpoint that the run goes on from, of --init-from, or of the options. Where
/// the options name one too it must be the same. Reads the data set's record for a vocabulary size.
/// Collective; throws on all ranks.
[[nodiscard]] ModelOrigin find_model(const MpiComm& comm, const TrainConfig& config);

}  // namespace shardgpt
