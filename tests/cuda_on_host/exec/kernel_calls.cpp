#include "tests/cuda_on_host/exec/kernel_calls.hpp"

#include <cstdint>
#include <cstring>

#include "tests/cuda_on_host/exec/engine.hpp"
#include "tests/cuda_on_host/exec/sanitizer_calls.hpp"

namespace cuda_on_host {

namespace {

constexpr std::size_t copy_bytes = 16;
constexpr int unwritten = 0xff;

Engine& engine() {
  return Engine::of_this_thread();
}

void tell_observer(const void* address, std::size_t bytes, AccessKind kind, const void* code) {
  if (AccessObserver* const observer = access_observer(); observer != nullptr) {
    observer->access(address, bytes, kind, code);
  }
}

void check(const void* address, std::size_t bytes, MemorySpace space, const SourcePlace& where) {
  const char* problem = nullptr;
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) {
    problem = " is misaligned";
  } else if (space == MemorySpace::shared && !engine().shared_memory().contains(address, bytes)) {
    problem = " is outside the block's shared memory";
  } else if (is_poisoned(address, bytes)) {
    problem = " is out of bounds, says AddressSanitizer";
  }
  if (problem != nullptr) {
    stop_kernel(FaultKind::bounds, [&] { return "the address at " + name_of(where) + problem; });
  }
}

}  // namespace

void block_barrier(const SourcePlace& where) {
  engine().block_barrier(where);
}

void warp_operation(std::uint32_t mask, WarpOperation operation, void* lane_data, bool orders_memory,
                    const SourcePlace& where) {
  engine().warp_operation(mask, operation, lane_data, orders_memory, where);
}

void* shared_array(const void* key, std::size_t bytes) {
  void* const array = engine().shared_memory().array(key, bytes);
  if (array == nullptr) {
    stop_kernel(FaultKind::bounds, [] { return "the block has more than 48 KiB of static shared memory"; });
  }
  return array;
}

void* dynamic_shared() {
  void* const address = engine().shared_memory().dynamic();
  if (address == nullptr) {
    stop_kernel(FaultKind::bounds, [] { return "the launch asked for no dynamic shared memory"; });
  }
  return address;
}

void start_async_copy16(void* destination, const void* source, const SourcePlace& where) {
  const void* const code = __builtin_return_address(0);
  if (source != nullptr) {
    check(source, copy_bytes, MemorySpace::global, where);
    tell_observer(source, copy_bytes, AccessKind::read, code);
  }
  check(destination, copy_bytes, MemorySpace::shared, where);
  tell_observer(destination, copy_bytes, AccessKind::write, code);
  std::memset(destination, unwritten, copy_bytes);
  engine().running().copies.start(destination, source, where);
}

void commit_async_copies() {
  engine().running().copies.commit();
}

void wait_async_copies(int keep_groups) {
  const void* const code = __builtin_return_address(0);
  engine().running().copies.wait(keep_groups, [code](const AsyncCopies::Copy& copy) {
    tell_observer(copy.destination, copy_bytes, AccessKind::write, code);
    if (copy.source == nullptr) {
      std::memset(copy.destination, 0, copy_bytes);
    } else {
      std::memcpy(copy.destination, copy.source, copy_bytes);
    }
  });
}

void check_access(const void* address, std::size_t bytes, AccessKind kind, MemorySpace space,
                  const SourcePlace& where) {
  const void* const code = __builtin_return_address(0);
  check(address, bytes, space, where);
  tell_observer(address, bytes, kind, code);
}

void record_fault(FaultKind kind, const std::string& message, const void* code, const void* other_code) {
  engine().record_fault(kind, message, code, other_code);
}

void abandon_kernel() {
  engine().abandon();
}

}  // namespace cuda_on_host
