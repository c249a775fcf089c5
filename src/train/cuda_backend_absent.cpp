// A build without CUDA.
#include <stdexcept>

#include "train/cuda_backend.hpp"

namespace shardgpt::cuda_backend {
namespace {

[[noreturn]] void throw_absent() {
  throw std::logic_error("this build has no CUDA");
}

}  // namespace

bool built() {
  return false;
}

Choice choose(const MpiComm& /*comm*/) {
  return {.index = 0,
          .name = {},
          .refusal = "this build has no CUDA. Use --device cpu, or a build with the preset cuda-release"};
}

std::vector<std::pair<std::string, std::string>> libraries() {
  return {};
}

std::unique_ptr<Device> make_device(int /*index*/) {
  throw_absent();
}

std::unique_ptr<Ops> make_ops(Device& /*device*/, DType /*dtype*/, const OpsLimits& /*limits*/) {
  throw_absent();
}

std::unique_ptr<Collectives> make_collectives(const MpiComm& /*comm*/, Device& /*device*/,
                                              std::chrono::seconds /*time_out*/) {
  throw_absent();
}

std::size_t free_memory(int /*index*/) {
  throw_absent();
}

}  // namespace shardgpt::cuda_backend
