#include "cuda_implementations.hpp"

#include "device/cuda/cuda_device.hpp"

namespace shardgpt::test {

Implementation make_cuda(DType dtype, const OpsLimits& limits, const cuda::CudaOptions& options) {
  Implementation made{"cuda", make_cuda_device(0), nullptr};
  made.ops = cuda::make_ops(*made.device, dtype, limits, options);
  return made;
}

std::vector<Implementation> tested_implementations(DType dtype, const OpsLimits& limits) {
  std::vector<Implementation> tested;
  tested.push_back(make_cuda(dtype, limits));
  return tested;
}

}  // namespace shardgpt::test
