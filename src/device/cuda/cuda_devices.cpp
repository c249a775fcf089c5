#include "device/cuda/cuda_devices.hpp"

#include <array>

#include <cuda_runtime_api.h>

#include "device/cuda/cuda_check.hpp"

namespace shardgpt {
namespace {

constexpr int oldest_compute_major = 8;  // BF16 tensor cores and asynchronous copies

std::string hexadecimal(const cudaUUID_t& uuid) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char byte : uuid.bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += digits[value >> 4U];
    text += digits[value & 15U];
  }
  return text;
}

CudaDeviceInfo describe(int index) {
  cudaDeviceProp properties{};
  SHARDGPT_CUDA(cudaGetDeviceProperties(&properties, index));
  return {.index = index,
          .name = properties.name,
          .uuid = hexadecimal(properties.uuid),
          .memory_bytes = properties.totalGlobalMem,
          .compute_major = properties.major,
          .compute_minor = properties.minor};
}

}  // namespace

std::string cuda_versions() {
  const auto text = [](int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  };
  int runtime = 0;
  int driver = 0;
  SHARDGPT_CUDA(cudaRuntimeGetVersion(&runtime));
  SHARDGPT_CUDA(cudaDriverGetVersion(&driver));
  return "runtime " + text(runtime) + ", driver " + text(driver);
}

CudaDevices find_cuda_devices() {
  CudaDevices found;
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) {
    (void)cudaGetLastError();  // not an error of whoever calls CUDA next
    found.reason = std::string(cudaGetErrorName(code)) + " (" + cudaGetErrorString(code) + ")";
    return found;
  }
  std::string too_old;
  for (int index = 0; index < count; ++index) {
    CudaDeviceInfo device = describe(index);
    if (device.compute_major >= oldest_compute_major) {
      found.devices.push_back(std::move(device));
    } else {
      too_old += (too_old.empty() ? "" : ", ") + device.name;
    }
  }
  if (found.devices.empty()) {
    found.reason = too_old.empty() ? "the driver shows no device"
                                   : too_old + ": older than compute capability 8.0, which this build needs";
  }
  return found;
}

}  // namespace shardgpt
