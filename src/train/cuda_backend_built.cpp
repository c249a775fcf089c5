// A build with CUDA.
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_devices.hpp"
#include "dist/nccl/cuda_choice.hpp"
#include "dist/nccl/nccl_collectives.hpp"
#include "dist/nccl/nccl_comm.hpp"
#include "kernels/cuda/cuda_ops.hpp"
#include "train/cuda_backend.hpp"

namespace shardgpt::cuda_backend {

bool built() {
  return true;
}

Choice choose(const MpiComm& comm) {
  const CudaChoice found = choose_cuda_device(comm);
  return {.index = found.device.index, .name = found.device.name, .refusal = found.refusal};
}

std::vector<std::pair<std::string, std::string>> libraries() {
  return {{"cuda", cuda_versions()}, {"nccl", nccl_version()}};
}

std::unique_ptr<Device> make_device(int index) {
  return make_cuda_device(index);
}

std::unique_ptr<Ops> make_ops(Device& device, DType dtype, const OpsLimits& limits) {
  return make_cuda_ops(device, dtype, limits);
}

std::unique_ptr<Collectives> make_collectives(const MpiComm& comm, Device& device,
                                              std::chrono::seconds time_out) {
  return make_nccl_collectives(comm, device, time_out);
}

std::size_t free_memory(int index) {
  return free_cuda_memory(index);
}

}  // namespace shardgpt::cuda_backend
