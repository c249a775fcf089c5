#pragma once

/// What a kernel thread may ask of the engine. Called by the stand-ins of CUDA's intrinsics, inside a kernel
/// only.

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/cuda_on_host/exec/access_observer.hpp"
#include "tests/cuda_on_host/exec/fault.hpp"
#include "tests/cuda_on_host/exec/kernel_thread.hpp"
#include "tests/cuda_on_host/exec/source_place.hpp"

namespace cuda_on_host {

/// Returns when all threads of the block have called it from the same place.
void block_barrier(const SourcePlace& where);

/// Returns when all lanes of `mask` have called it from the same place and `operation` (nullptr: none) has
/// run. `orders_memory`: as __syncwarp; shuffles, votes and fragment operations do not.
void warp_operation(std::uint32_t mask, WarpOperation operation, void* lane_data, bool orders_memory,
                    const SourcePlace& where);

void* shared_array(const void* key, std::size_t bytes);
void* dynamic_shared();

/// source nullptr: zeros. The 16 bytes are NaN until the thread waits for them.
void start_async_copy16(void* destination, const void* source, const SourcePlace& where);
void commit_async_copies();
void wait_async_copies(int keep_groups);

/// An access made on behalf of the running thread by an operation that the sanitizers do not see into: checks
/// alignment to `bytes`, AddressSanitizer's marks, that it lies in shared memory if `space` says so, and
/// tells the observer.
void check_access(const void* address, std::size_t bytes, AccessKind kind, MemorySpace space,
                  const SourcePlace& where);

/// Notes the fault of the launch: where the kernel is, then `message`. `code` and `other_code` are addresses
/// to name the source lines of.
void record_fault(FaultKind kind, const std::string& message, const void* code, const void* other_code);
/// Leaves the kernel for good: nothing on the thread's stack is destroyed.
[[noreturn]] void abandon_kernel();

/// Ends the launch with a fault. `describe()` returns the message, and what it needed is gone when the stack
/// is left.
template <class Describe>
[[noreturn]] void stop_kernel(FaultKind kind, const Describe& describe, const void* code = nullptr,
                              const void* other_code = nullptr) {
  record_fault(kind, describe(), code, other_code);
  abandon_kernel();
}

/// "file:line" without folders.
std::string name_of(const SourcePlace& where);

}  // namespace cuda_on_host
