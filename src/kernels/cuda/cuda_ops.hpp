#pragma once

#include <memory>

#include "kernels/cuda/cuda_context.hpp"
#include "kernels/ops.hpp"

namespace shardgpt {

/// cuBLASLt products and kernels of this project on a CUDA device. Allocates all of its scratch memory here,
/// launches only afterwards, and never waits for the device. Throws InputError where the kernels do not serve
/// the sizes in `limits`: embd and padded_vocab must be multiples of 8, embd at most 4096, embd / heads at
/// most 256.
[[nodiscard]] std::unique_ptr<Ops> make_cuda_ops(Device& device, DType dtype, const OpsLimits& limits);

namespace cuda {

/// make_cuda_ops with other options than the default.
[[nodiscard]] std::unique_ptr<Ops> make_ops(Device& device, DType dtype, const OpsLimits& limits,
                                            const CudaOptions& options);

}  // namespace cuda
}  // namespace shardgpt
