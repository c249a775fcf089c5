#pragma once

#include <string>

#include <cuda_runtime_api.h>

#include "core/error.hpp"

namespace shardgpt::cuda {

/// A call of the CUDA runtime failed, or a kernel could not be launched. The message names file, line and
/// call.
class CudaError : public Error {
 public:
  CudaError(cudaError_t code, const std::string& message) : Error(message), code_(code) {}
  [[nodiscard]] cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

/// Throws CudaError, after clearing the runtime's last error: who catches may call CUDA again.
[[noreturn]] void throw_cuda_error(cudaError_t code, const char* call, const char* file, int line);

}  // namespace shardgpt::cuda

/// Throws CudaError if a call that returns cudaError_t failed.
#define SHARDGPT_CUDA(call)                                                          \
  do {                                                                               \
    if (const cudaError_t shardgpt_code_ = (call); shardgpt_code_ != cudaSuccess) {  \
      ::shardgpt::cuda::throw_cuda_error(shardgpt_code_, #call, __FILE__, __LINE__); \
    }                                                                                \
  } while (false)
