#include "tests/cuda_on_host/runtime/devices.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <cuda_runtime_api.h>

#include "tests/cuda_on_host/runtime/errors.hpp"
#include "tests/cuda_on_host/runtime/settings.hpp"

namespace cuda_on_host {
namespace {

thread_local int selected_device = 0;

constexpr int runtime_version = CUDART_VERSION;
constexpr int warp_size = 32;
constexpr int threads_per_block = 1024;
constexpr int registers_per_multiprocessor = 65536;
constexpr int shared_bytes_per_block = 48 << 10;
constexpr int shared_bytes_per_block_opt_in = 227 << 10;  // of compute capability 9.0
constexpr int multiprocessors = 4;                        // few: grids sized by it stay small

int visible_count() {
  return static_cast<int>(settings().visible.size());
}

/// cudaSuccess where `device` is one that this process sees.
cudaError_t check_device(int device) {
  if (!settings().driver) {
    return report(cudaErrorInsufficientDriver);
  }
  if (visible_count() == 0) {
    return report(cudaErrorNoDevice);
  }
  return device >= 0 && device < visible_count() ? cudaSuccess : report(cudaErrorInvalidDevice);
}

}  // namespace

int current_device() {
  return selected_device;
}

}  // namespace cuda_on_host

using namespace cuda_on_host;

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (const cudaError_t code = check_device(0); code != cudaSuccess) {
    return code;
  }
  *count = visible_count();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  CUDA_ON_HOST_ENTER();
  if (const cudaError_t code = check_device(device); code != cudaSuccess) {
    return code;
  }
  selected_device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  CUDA_ON_HOST_ENTER();
  *device = selected_device;
  return check_device(selected_device);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  if (const cudaError_t code = check_device(device); code != cudaSuccess) {
    return code;
  }
  const int physical = settings().visible[static_cast<std::size_t>(device)];
  *prop = {};
  const std::string name = "CUDA on host";
  std::copy(name.begin(), name.end(), prop->name);
  const std::string uuid = "on-host-device-";
  std::copy(uuid.begin(), uuid.end(), prop->uuid.bytes);
  prop->uuid.bytes[sizeof(prop->uuid.bytes) - 1] = static_cast<char>(physical);
  prop->totalGlobalMem = settings().memory_bytes;
  prop->sharedMemPerBlock = shared_bytes_per_block;
  prop->sharedMemPerBlockOptin = static_cast<std::size_t>(shared_bytes_per_block_opt_in);
  prop->regsPerBlock = registers_per_multiprocessor;
  prop->warpSize = warp_size;
  prop->maxThreadsPerBlock = threads_per_block;
  prop->major = 9;
  prop->minor = 0;
  prop->multiProcessorCount = multiprocessors;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  if (const cudaError_t code = check_device(device); code != cudaSuccess) {
    return code;
  }
  switch (attr) {
    case cudaDevAttrMultiProcessorCount:
      *value = multiprocessors;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = shared_bytes_per_block_opt_in;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = shared_bytes_per_block;
      return cudaSuccess;
    case cudaDevAttrWarpSize:
      *value = warp_size;
      return cudaSuccess;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = threads_per_block;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      return cudaSuccess;
    default:
      return report(cudaErrorNotSupported, "cudaDeviceGetAttribute: attribute " +
                                               std::to_string(static_cast<int>(attr)) + " is not modelled");
  }
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  CUDA_ON_HOST_ENTER();
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = runtime_version;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = settings().driver ? runtime_version : 0;
  return cudaSuccess;
}
