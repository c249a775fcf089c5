#include "tests/cuda_on_host/exec/shared_memory.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/cuda_on_host/exec/access_observer.hpp"
#include "tests/cuda_on_host/exec/sanitizer_calls.hpp"

namespace cuda_on_host {

namespace {

constexpr std::size_t alignment = 128;
constexpr std::size_t gap_bytes = 128;
constexpr std::size_t max_arrays = 64;
constexpr std::size_t arena_bytes =
    max_dynamic_shared_bytes + max_static_shared_bytes + (max_arrays + 1) * (alignment + gap_bytes);
constexpr int unwritten = 0xff;

}  // namespace

void SharedMemory::Free::operator()(std::byte* address) const {
  unpoison(address, arena_bytes);
  std::free(address);  // NOLINT(cppcoreguidelines-no-malloc): of aligned_alloc
}

SharedMemory::SharedMemory() : arena_(static_cast<std::byte*>(std::aligned_alloc(alignment, arena_bytes))) {
  if (arena_ == nullptr) {
    throw std::bad_alloc();
  }
  poison(arena_.get(), arena_bytes);
}

SharedMemory::Region& SharedMemory::add(const void* key, std::size_t bytes) {
  std::byte* const address = arena_.get() + used_;
  used_ += (bytes + gap_bytes + alignment - 1) / alignment * alignment;
  unpoison(address, bytes);
  std::memset(address, unwritten, bytes);
  if (AccessObserver* const observer = access_observer(); observer != nullptr) {
    observer->memory_added(address, bytes, MemorySpace::shared);
  }
  return regions_.emplace_back(Region{key, address, bytes});
}

void SharedMemory::begin_launch(std::size_t dynamic_bytes) {
  dynamic_bytes_ = dynamic_bytes;
  if (dynamic_bytes != 0) {
    add(nullptr, dynamic_bytes);
  }
}

void SharedMemory::begin_block() {
  for (const Region& region : regions_) {
    std::memset(region.address, unwritten, region.bytes);
  }
}

void SharedMemory::end_launch() {
  for (const Region& region : regions_) {
    if (AccessObserver* const observer = access_observer(); observer != nullptr) {
      observer->memory_removed(region.address, MemorySpace::shared);
    }
  }
  poison(arena_.get(), used_);
  regions_.clear();
  used_ = 0;
  static_bytes_ = 0;
}

void* SharedMemory::array(const void* key, std::size_t bytes) {
  for (const Region& region : regions_) {
    if (region.key == key) {
      return region.address;
    }
  }
  static_bytes_ += bytes;
  if (static_bytes_ > max_static_shared_bytes || regions_.size() > max_arrays) {
    return nullptr;
  }
  return add(key, bytes).address;
}

bool SharedMemory::contains(const void* address, std::size_t bytes) const {
  const auto* const begin = static_cast<const std::byte*>(address);
  for (const Region& region : regions_) {
    if (begin >= region.address && begin + bytes <= region.address + region.bytes) {
      return true;
    }
  }
  return false;
}

}  // namespace cuda_on_host
