#include "tests/cuda_on_host/race/shadow_memory.hpp"

#include <new>

#include <sys/mman.h>

namespace cuda_on_host {

ShadowMemory::~ShadowMemory() {
  for (auto& [begin, region] : regions_) {
    release(region);
  }
}

void ShadowMemory::release(ShadowRegion& region) {
  if (region.bytes != nullptr) {
    munmap(region.bytes, (region.end - region.begin) * sizeof(ByteShadow));
  }
}

void ShadowMemory::add(const void* address, std::size_t bytes, MemorySpace space) {
  remove(address);
  ShadowRegion region;
  region.begin = reinterpret_cast<std::uintptr_t>(address);
  region.end = region.begin + bytes;
  region.space = space;
  if (bytes != 0) {
    // Zeroed by the kernel when it is first touched.
    void* const mapped = mmap(nullptr, bytes * sizeof(ByteShadow), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
      throw std::bad_alloc();
    }
    region.bytes = static_cast<ByteShadow*>(mapped);
  }
  regions_[region.begin] = region;
  last_ = nullptr;
}

void ShadowMemory::remove(const void* address) {
  const auto found = regions_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found != regions_.end()) {
    release(found->second);
    regions_.erase(found);
    last_ = nullptr;
  }
}

ShadowRegion* ShadowMemory::find(std::uintptr_t address) {
  if (last_ != nullptr && address >= last_->begin && address < last_->end) {
    return last_;
  }
  auto next = regions_.upper_bound(address);
  if (next == regions_.begin()) {
    return nullptr;
  }
  ShadowRegion& region = (--next)->second;
  if (address >= region.end) {
    return nullptr;
  }
  last_ = &region;
  return last_;
}

}  // namespace cuda_on_host
