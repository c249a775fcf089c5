#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shardgpt {

/// One device as the driver shows it to this process.
struct CudaDeviceInfo {
  int index = 0;  ///< among those that this process sees
  std::string name;
  std::string uuid;  ///< of the hardware, the same in every process: 32 hexadecimal digits
  std::size_t memory_bytes = 0;
  int compute_major = 0;
  int compute_minor = 0;
};

/// The devices that this process can compute on, or why there is none.
struct CudaDevices {
  std::vector<CudaDeviceInfo> devices;
  std::string reason;  ///< empty where there are devices
};

/// Asks the driver. A machine without driver or device is an answer, not an error; nor is a device older than
/// the code in this build (compute capability 8.0).
[[nodiscard]] CudaDevices find_cuda_devices();

/// "runtime 13.0, driver 13.0".
[[nodiscard]] std::string cuda_versions();

}  // namespace shardgpt
