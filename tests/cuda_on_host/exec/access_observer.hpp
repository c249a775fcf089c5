#pragma once

#include <cstddef>

namespace cuda_on_host {

enum class AccessKind { read, write, atomic };
enum class MemorySpace { global, shared };

/// Told of the memory that kernels may use, and of every access where kernels are compiled to report them
/// (tests/cuda_on_host/race). At most one, for the whole program; without one nothing is reported.
class AccessObserver {
 public:
  AccessObserver() = default;
  AccessObserver(const AccessObserver&) = delete;
  AccessObserver& operator=(const AccessObserver&) = delete;
  virtual ~AccessObserver() = default;

  /// Around each launch, on the thread that runs it. Launches do not overlap: the first may wait.
  virtual void launch_begins() = 0;
  virtual void launch_ends() = 0;
  /// Shared memory is added and removed by the running launch, global memory by any thread at any time.
  virtual void memory_added(const void* address, std::size_t bytes, MemorySpace space) = 0;
  virtual void memory_removed(const void* address, MemorySpace space) = 0;
  /// By the running kernel thread; `code` is where. May stop the kernel.
  virtual void access(const void* address, std::size_t bytes, AccessKind kind, const void* code) = 0;
};

/// nullptr: none.
AccessObserver* access_observer();
void set_access_observer(AccessObserver* observer);

}  // namespace cuda_on_host
