#include "tests/cuda_on_host/exec/global_memory.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "tests/cuda_on_host/exec/access_observer.hpp"

namespace cuda_on_host {

namespace {

constexpr std::size_t alignment = 256;
constexpr int unwritten = 0xff;

// Set while the program starts, before any thread: see race/receivers.cpp.
std::atomic<AccessObserver*> observer = nullptr;

}  // namespace

AccessObserver* access_observer() {
  return observer.load(std::memory_order_relaxed);
}

void set_access_observer(AccessObserver* new_observer) {
  observer.store(new_observer, std::memory_order_relaxed);
}

void* allocate_global(std::size_t bytes) {
  void* address = nullptr;
  if (posix_memalign(&address, alignment, bytes == 0 ? 1 : bytes) != 0) {
    return nullptr;
  }
  std::memset(address, unwritten, bytes);
  register_global(address, bytes);
  return address;
}

void free_global(void* address) {
  unregister_global(address);
  std::free(address);  // NOLINT(cppcoreguidelines-no-malloc): of posix_memalign
}

void register_global(const void* address, std::size_t bytes) {
  if (AccessObserver* const told = access_observer(); told != nullptr && address != nullptr) {
    told->memory_added(address, bytes, MemorySpace::global);
  }
}

void unregister_global(const void* address) {
  if (AccessObserver* const told = access_observer(); told != nullptr && address != nullptr) {
    told->memory_removed(address, MemorySpace::global);
  }
}

}  // namespace cuda_on_host
