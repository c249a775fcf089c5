#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include <vector_types.h>

#include "tests/cuda_on_host/exec/fault.hpp"
#include "tests/cuda_on_host/exec/kernel_thread.hpp"
#include "tests/cuda_on_host/exec/ready_set.hpp"
#include "tests/cuda_on_host/exec/shared_memory.hpp"
#include "tests/cuda_on_host/exec/source_place.hpp"

namespace cuda_on_host {

/// A kernel with its grid. `entry(arguments)` is called by every thread of every block; the arguments are not
/// written.
struct Launch {
  dim3 grid;
  dim3 block;
  std::size_t dynamic_shared_bytes = 0;
  void (*entry)(void* arguments) = nullptr;
  void* arguments = nullptr;
  std::size_t argument_bytes = 0;
};

/// Runs the launch to its end, on the calling thread of the operating system (launches of several such
/// threads run at the same time). Throws KernelFault when the kernel does something wrong; what it wrote
/// until then stays.
void run(const Launch& launch);

/// The blocks of a launch one after the other; the threads of a block as fibers, switched at barriers and
/// warp operations, without the operating system.
class Engine {
 public:
  static Engine& of_this_thread();
  void run(const Launch& launch);

  // Called by kernel threads: see kernel_calls.hpp.
  void block_barrier(const SourcePlace& where);
  void warp_operation(std::uint32_t mask, WarpOperation operation, void* lane_data, bool orders_memory,
                      const SourcePlace& where);
  void record_fault(FaultKind kind, const std::string& message, const void* code, const void* other_code);
  [[noreturn]] void abandon();
  SharedMemory& shared_memory() { return shared_memory_; }
  KernelThread& running() { return *running_; }

 private:
  struct Warp {
    std::uint32_t waiting = 0;  ///< lanes that wait at a warp operation
  };
  struct Fault {
    FaultKind kind;
    std::string message;
    const void* code;
    const void* other_code;
  };

  static void thread_main();
  void begin_block(std::uint32_t block);
  void run_block();
  void leave();
  void switch_to(Fiber& from, int thread);
  void wait_for_turn();
  void release_warp(unsigned warp, std::uint32_t mask, bool orders_memory);
  void release_barrier();
  [[nodiscard]] std::string describe_stuck() const;
  /// Whether this lane of the thread's warp waits for the same lanes.
  [[nodiscard]] bool waits_with(const KernelThread& thread, unsigned lane) const;
  [[noreturn]] void throw_fault();

  std::deque<KernelThread> threads_;  ///< grows to the largest block; never moves
  unsigned thread_count_ = 0;
  std::array<Warp, max_warps_of_block> warps_{};
  unsigned at_barrier_ = 0;
  unsigned done_ = 0;
  std::optional<ReadySet> ready_;
  SharedMemory shared_memory_;
  Fiber launcher_;
  Fiber* switched_from_ = nullptr;
  KernelThread* running_ = nullptr;
  const Launch* launch_ = nullptr;
  std::optional<Fault> fault_;
};

}  // namespace cuda_on_host
