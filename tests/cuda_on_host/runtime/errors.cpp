#include "tests/cuda_on_host/runtime/errors.hpp"

#include <atomic>
#include <iostream>
#include <utility>

namespace cuda_on_host {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
// Relaxed: asking for it must not order the memory of threads, which would hide a missing event.
std::atomic<cudaError_t> sticky = cudaSuccess;

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
