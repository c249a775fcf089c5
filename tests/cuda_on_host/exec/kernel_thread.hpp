#pragma once

#include <cstdint>

#include <vector_types.h>

#include "tests/cuda_on_host/exec/async_copies.hpp"
#include "tests/cuda_on_host/exec/fiber.hpp"
#include "tests/cuda_on_host/exec/source_place.hpp"

namespace cuda_on_host {

/// Runs once, when all lanes of `mask` have come: lane_data[i] is what lane i gave, nullptr outside the mask.
using WarpOperation = void (*)(void* const* lane_data, std::uint32_t mask);

/// One thread of the running block.
struct KernelThread {
  enum class State { runs, waits_at_warp_operation, waits_at_barrier, done };

  explicit KernelThread(unsigned thread_number) : number(thread_number), stack(thread_number) {}

  unsigned number;               ///< in the block
  uint3 index{};                 ///< threadIdx
  std::uint32_t warp_epoch = 0;  ///< count of __syncwarp of the whole warp
  FiberStack stack;
  Fiber fiber;
  AsyncCopies copies;

  State state = State::done;
  SourcePlace where;  ///< of the barrier or warp operation that it waits at
  WarpOperation operation = nullptr;
  void* lane_data = nullptr;
  std::uint32_t mask = 0;
};

/// What the code of a kernel sees of the launch. One per thread of the operating system, as several streams
/// may run.
struct KernelContext {
  const KernelThread* thread = nullptr;  ///< nullptr: no kernel thread runs
  uint3 block_index{};
  uint3 block_extents{};
  uint3 grid_extents{};
  std::uint32_t barrier_epoch = 0;  ///< barriers that the block has passed
  std::uint32_t block_serial = 0;   ///< of all blocks of all launches, from 1
  std::uint32_t launch_first_serial = 0;
  const void* arguments = nullptr;  ///< the launch's, which kernel threads read
  std::size_t argument_bytes = 0;
};

inline constinit thread_local KernelContext kernel_context;

}  // namespace cuda_on_host
