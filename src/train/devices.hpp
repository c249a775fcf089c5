#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "device/device.hpp"
#include "dist/collectives.hpp"
#include "dist/mpi/mpi_session.hpp"
#include "kernels/ops.hpp"
#include "train/train_config.hpp"

namespace shardgpt {

/// What a rank computes on; the kind is the same on all ranks.
struct DeviceChoice {
  DeviceKind kind = DeviceKind::cpu;
  int cuda_index = 0;       ///< among the CUDA devices that the process sees
  std::string description;  ///< "cpu", or the name of the CUDA device
};

/// Decides for all ranks together. auto: CUDA where every rank has a device of its own, else CPUs; but where
/// the job was given GPUs and one cannot be used, it is refused rather than run without. Refuses what this
/// build, machine or choice cannot do (--device, --cpu-offload, --kernels, OMP_NUM_THREADS). Collective;
/// throws InputError on all ranks.
[[nodiscard]] DeviceChoice choose_device(const MpiComm& comm, const DeviceOptions& options);

/// Compute threads of this rank: as given, else OMP_NUM_THREADS, else its share of the cores it may run on.
/// Collective.
[[nodiscard]] int choose_threads(const MpiComm& comm, const DeviceOptions& options);

[[nodiscard]] DType dtype_from_options(const DeviceOptions& options);

/// `threads` compute on a CPU.
[[nodiscard]] std::unique_ptr<Device> make_device(const DeviceChoice& choice, int threads);

/// The operations on `device` that --kernels asks for.
[[nodiscard]] std::unique_ptr<Ops> make_ops(Device& device, const DeviceOptions& options,
                                            const OpsLimits& limits);

/// Between the devices of all ranks. Collective.
[[nodiscard]] std::unique_ptr<Collectives> make_collectives(const MpiComm& comm, Device& device,
                                                            std::chrono::seconds time_out);

/// Bytes that make_ops allocates on the device, found by making them; on a CPU in memory that is never
/// touched.
[[nodiscard]] std::size_t ops_workspace_bytes(const DeviceChoice& choice, const DeviceOptions& options,
                                              int threads, const OpsLimits& limits);

/// Memory of the chosen CUDA device that is free for this rank, in bytes.
[[nodiscard]] std::size_t free_device_memory(const DeviceChoice& choice);

}  // namespace shardgpt
