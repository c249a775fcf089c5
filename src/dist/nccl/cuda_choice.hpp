#pragma once

#include <string>

#include "device/cuda/cuda_devices.hpp"
#include "dist/mpi/mpi_session.hpp"

namespace shardgpt {

/// Whether every rank has a CUDA device of its own; the same answer on all ranks.
struct CudaChoice {
  CudaDeviceInfo device;  ///< of this rank; only where `refusal` is empty
  std::string refusal;    ///< why the job cannot compute on CUDA devices, naming rank and host
};

/// Takes the device by the rank's number within its node, modulo those that the process sees (one, where the
/// launcher binds a GPU to each task). Refused where a rank sees none, or where two would share one: that is
/// found here by host and UUID, since NCCL might hang. Collective.
[[nodiscard]] CudaChoice choose_cuda_device(const MpiComm& comm);

}  // namespace shardgpt
