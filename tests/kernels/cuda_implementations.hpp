#pragma once

#include "kernels/cuda/cuda_ops.hpp"
#include "ops_harness.hpp"

namespace shardgpt::test {

[[nodiscard]] Implementation make_cuda(DType dtype, const OpsLimits& limits,
                                       const cuda::CudaOptions& options = {});

}  // namespace shardgpt::test
