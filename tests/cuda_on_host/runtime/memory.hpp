#pragma once

#include <cstddef>
#include <string>

namespace cuda_on_host {

enum class MemoryKind { pageable, pinned, device };

/// What `address` points to; pageable: memory that no CUDA call has given out.
[[nodiscard]] MemoryKind memory_kind(const void* address);

/// Empty where [address, address + bytes) lies within one live allocation of `kind`; else what is wrong.
[[nodiscard]] std::string check_range(const void* address, std::size_t bytes, MemoryKind kind);

/// While one exists device memory may be touched; only matters with Settings::guard.
class DeviceMemoryAccess {
 public:
  DeviceMemoryAccess();
  DeviceMemoryAccess(const DeviceMemoryAccess&) = delete;
  DeviceMemoryAccess& operator=(const DeviceMemoryAccess&) = delete;
  ~DeviceMemoryAccess();
};

}  // namespace cuda_on_host
