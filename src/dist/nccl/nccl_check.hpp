#pragma once

#include <nccl.h>

#include "core/error.hpp"

namespace shardgpt {

/// A failed NCCL call.
class NcclError : public Error {
 public:
  using Error::Error;
};

/// `comm` may be null; else what NCCL has to say of its last error is added.
[[noreturn]] void throw_nccl_error(ncclResult_t code, const char* call, ncclComm_t comm, const char* file,
                                   int line);

/// Runs an NCCL call that is done when it returns, and throws NcclError with its text on failure.
#define SHARDGPT_NCCL(call)                                                             \
  do {                                                                                  \
    if (const ncclResult_t shardgpt_code_ = (call); shardgpt_code_ != ncclSuccess) {    \
      ::shardgpt::throw_nccl_error(shardgpt_code_, #call, nullptr, __FILE__, __LINE__); \
    }                                                                                   \
  } while (false)

}  // namespace shardgpt
