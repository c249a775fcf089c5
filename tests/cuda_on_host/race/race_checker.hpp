#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "tests/cuda_on_host/exec/access_observer.hpp"
#include "tests/cuda_on_host/race/shadow_memory.hpp"

namespace cuda_on_host {

/// Finds, in kernels that report each access: two accesses of one byte of which one is a write and which
/// nothing orders (a barrier of the block, __syncwarp of the whole warp, the end of a launch; both atomic is
/// fine); shared memory read before it is written; addresses outside the memory that kernels may use;
/// misaligned addresses up to 8 bytes. It judges what may happen, not what did: the order that the threads
/// run in does not matter, but the first finding stops the kernel. Launches of several streams run one after
/// the other.
class RaceChecker final : public AccessObserver {
 public:
  void launch_begins() override { running_.lock(); }
  void launch_ends() override { running_.unlock(); }
  void memory_added(const void* address, std::size_t bytes, MemorySpace space) override;
  void memory_removed(const void* address, MemorySpace space) override;
  void access(const void* address, std::size_t bytes, AccessKind kind, const void* code) override;

 private:
  struct Access {
    const void* address;
    std::size_t bytes;
    AccessKind kind;
    const void* code;
  };

  void check_byte(ByteShadow& shadow, MemorySpace space, const Stamp& now, const Access& access);
  [[noreturn]] static void report_race(const Stamp& before, const char* what, const Access& access);

  std::mutex running_;  ///< held by the launch that runs
  ShadowMemory memory_;
};

}  // namespace cuda_on_host
