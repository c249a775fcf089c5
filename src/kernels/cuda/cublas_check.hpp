#pragma once

#include <string>

#include <cublasLt.h>

#include "core/error.hpp"

namespace shardgpt::cuda {

/// A call of cuBLASLt failed. The message names file, line and call.
class CublasError : public Error {
 public:
  using Error::Error;
};

[[noreturn]] void throw_cublas_error(cublasStatus_t code, const char* call, const char* file, int line);

}  // namespace shardgpt::cuda

/// Throws CublasError if a call that returns cublasStatus_t failed.
#define SHARDGPT_CUBLAS(call)                                                                    \
  do {                                                                                           \
    if (const cublasStatus_t shardgpt_code_ = (call); shardgpt_code_ != CUBLAS_STATUS_SUCCESS) { \
      ::shardgpt::cuda::throw_cublas_error(shardgpt_code_, #call, __FILE__, __LINE__);           \
    }                                                                                            \
  } while (false)
