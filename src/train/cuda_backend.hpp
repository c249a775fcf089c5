#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "dist/collectives.hpp"
#include "dist/mpi/mpi_session.hpp"
#include "kernels/ops.hpp"

/// All that training knows of CUDA. The build links one of the sources cuda_backend_*.cpp: with CUDA, or
/// without, where no function but the first three may be called.
namespace shardgpt::cuda_backend {

[[nodiscard]] bool built();

/// Whether every rank has a device of its own, the same answer on all ranks.
struct Choice {
  int index = 0;  ///< of this rank's device, among those that the process sees
  std::string name;
  std::string refusal;  ///< empty: yes; else why not, to be read behind "--device cuda: "
};
/// Collective.
[[nodiscard]] Choice choose(const MpiComm& comm);

/// Names and versions of the libraries, for the record of a run.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> libraries();

[[nodiscard]] std::unique_ptr<Device> make_device(int index);
[[nodiscard]] std::unique_ptr<Ops> make_ops(Device& device, DType dtype, const OpsLimits& limits);
/// Collective.
[[nodiscard]] std::unique_ptr<Collectives> make_collectives(const MpiComm& comm, Device& device,
                                                            std::chrono::seconds time_out);
/// In bytes.
[[nodiscard]] std::size_t free_memory(int index);

}  // namespace shardgpt::cuda_backend
