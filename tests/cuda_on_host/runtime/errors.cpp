#include "tests/cuda_on_host/runtime/errors.hpp"

#include <array>
#include <atomic>
#include <iostream>
#include <utility>

namespace cuda_on_host {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
// Relaxed: asking for it must not order the memory of threads, which would hide a missing event.
std::atomic<cudaError_t> sticky = cudaSuccess;

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* text;
};

#define CUDA_ON_HOST_ERROR(code, text) \
  ErrorText {                          \
    code, #code, text                  \
  }
constexpr std::array errors = {
    CUDA_ON_HOST_ERROR(cudaSuccess, "no error"),
    CUDA_ON_HOST_ERROR(cudaErrorInvalidValue, "invalid argument"),
    CUDA_ON_HOST_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    CUDA_ON_HOST_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    CUDA_ON_HOST_ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    CUDA_ON_HOST_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    CUDA_ON_HOST_ERROR(cudaErrorInsufficientDriver,
                       "CUDA driver version is insufficient for CUDA runtime version"),
    CUDA_ON_HOST_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    CUDA_ON_HOST_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    CUDA_ON_HOST_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    CUDA_ON_HOST_ERROR(cudaErrorNotReady, "device not ready"),
    CUDA_ON_HOST_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    CUDA_ON_HOST_ERROR(cudaErrorNotSupported, "operation not supported"),
};
#undef CUDA_ON_HOST_ERROR

const ErrorText* find(cudaError_t code) {
  for (const ErrorText& error : errors) {
    if (error.code == code) {
      return &error;
    }
  }
  return nullptr;
}

}  // namespace

cudaError_t report(cudaError_t code, const std::string& why) {
  if (code != cudaSuccess) {
    last_error = code;
  }
  if (!why.empty()) {
    std::cerr << ("cuda_on_host: " + why + "\n") << std::flush;
  }
  return code;
}

void fail_device(cudaError_t code, const std::string& why) {
  cudaError_t none = cudaSuccess;
  if (sticky.compare_exchange_strong(none, code, std::memory_order_relaxed)) {
    std::cerr << ("cuda_on_host: " + why + "\n") << std::flush;
  }
}

cudaError_t device_failure() {
  return sticky.load(std::memory_order_relaxed);
}

}  // namespace cuda_on_host

cudaError_t cudaGetLastError() {
  const cudaError_t failure = cuda_on_host::device_failure();
  const cudaError_t last = std::exchange(cuda_on_host::last_error, cudaSuccess);
  return failure != cudaSuccess ? failure : last;
}

cudaError_t cudaPeekAtLastError() {
  const cudaError_t failure = cuda_on_host::device_failure();
  return failure != cudaSuccess ? failure : cuda_on_host::last_error;
}

const char* cudaGetErrorName(cudaError_t error) {
  const auto* found = cuda_on_host::find(error);
  return found != nullptr ? found->name : "cudaErrorUnknown";
}

const char* cudaGetErrorString(cudaError_t error) {
  const auto* found = cuda_on_host::find(error);
  return found != nullptr ? found->text : "an error that the host implementation has no text for";
}
