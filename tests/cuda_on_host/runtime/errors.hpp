#pragma once

#include <string>

#include <cuda_runtime_api.h>

namespace cuda_on_host {

/// Makes `code` the calling thread's last error and returns it; success changes nothing. `why` is printed to
/// standard error: it says more than an error code can.
cudaError_t report(cudaError_t code, const std::string& why = {});

/// Work on a stream has failed: from here on every call returns `code`, as after a fault on a device.
void fail_device(cudaError_t code, const std::string& why);
/// cudaSuccess, or what fail_device was given first.
[[nodiscard]] cudaError_t device_failure();

}  // namespace cuda_on_host

/// Leaves an API function early where the device has failed.
#define CUDA_ON_HOST_ENTER()                                                                      \
  do {                                                                                            \
    if (const cudaError_t failure_ = ::cuda_on_host::device_failure(); failure_ != cudaSuccess) { \
      return ::cuda_on_host::report(failure_);                                                    \
    }                                                                                             \
  } while (false)
