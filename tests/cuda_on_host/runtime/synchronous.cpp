/// The smallest runtime: one stream, and every call runs to its end before it returns. What a kernel throws
/// leaves the launch. For tests of kernels alone.

#include <cstring>
#include <utility>

#include "tests/cuda_on_host/exec/global_memory.hpp"
#include "tests/cuda_on_host/runtime/queue.hpp"

namespace cuda_on_host {

void enqueue(cudaStream_t /*stream*/, std::function<void()> work) {
  std::exchange(work, {})();
}

}  // namespace cuda_on_host

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  *address = cuda_on_host::allocate_global(bytes);
  return *address == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaFree(void* address) {
  cuda_on_host::free_global(address);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind /*kind*/) {
  std::memcpy(destination, source, bytes);
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  return cudaSuccess;
}

}  // extern "C"
