#include "tests/cuda_on_host/runtime/memory.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include "tests/cuda_on_host/exec/global_memory.hpp"
#include "tests/cuda_on_host/runtime/devices.hpp"
#include "tests/cuda_on_host/runtime/errors.hpp"
#include "tests/cuda_on_host/runtime/settings.hpp"
#include "tests/cuda_on_host/runtime/streams.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace cuda_on_host {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t alignment = 256;  // of cudaMalloc
constexpr int uninitialised = 0xff;     // NaN as float and as bfloat16

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Accesses of this process to what lies around an allocation are errors.
void forbid([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(begin, bytes);
#endif
}

void allow([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

/// Addresses that are handed out once each: a freed block stays out of reach, so that a late access is
/// caught. Each block lies between pages that cannot be touched.
class AddressSpace {
 public:
  /// Null where the addresses are used up.
  std::byte* take(std::size_t bytes) {
    constexpr std::size_t reserved = std::size_t{1} << 38;
    if (base_ == nullptr) {
      void* mapped = ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (mapped == MAP_FAILED) {
        return nullptr;
      }
      base_ = static_cast<std::byte*>(mapped);
    }
    const std::size_t pages = round_up(bytes, page);
    if (used_ + pages + 2 * page > reserved) {
      return nullptr;
    }
    std::byte* first = base_ + used_ + page;
    if (::mprotect(first, pages, PROT_READ | PROT_WRITE) != 0) {
      return nullptr;
    }
    used_ += pages + page;
    return first;
  }
  static void give_back(std::byte* first, std::size_t bytes) {
    const std::size_t pages = round_up(bytes, page);
    ::madvise(first, pages, MADV_DONTNEED);
    ::mprotect(first, pages, PROT_NONE);
  }
  /// All blocks together; opens the pages between them too.
  void protect(int protection) const {
    if (used_ > 0) {
      ::mprotect(base_, used_ + page, protection);
    }
  }

 private:
  std::byte* base_ = nullptr;
  std::size_t used_ = 0;
};

struct Block {
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::device;
  int device = 0;
};

class MemoryMap {
 public:
  cudaError_t allocate(void** result, std::size_t bytes, MemoryKind kind) {
    const std::lock_guard lock(mutex_);
    const bool device = kind == MemoryKind::device;
    if (device && bytes > settings().memory_bytes - used_) {
      return report(cudaErrorMemoryAllocation);
    }
    // As near to the page behind as the alignment lets it be.
    const std::size_t rounded = round_up(bytes, alignment);
    std::byte* first = addresses(kind).take(rounded);
    if (first == nullptr) {
      return report(cudaErrorMemoryAllocation);
    }
    const std::size_t lead = round_up(rounded, page) - rounded;
    allow(first + lead, bytes);
    forbid(first, lead);
    forbid(first + lead + bytes, rounded - bytes);
    blocks_[first + lead] = {bytes, kind, current_device()};
    used_ += device ? bytes : 0;
    *result = first + lead;
    register_global(*result, bytes);
    std::memset(*result, uninitialised, bytes);
    return cudaSuccess;
  }

  /// Nothing may be using the block any more.
  cudaError_t release(void* address, MemoryKind kind, const char* call) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(static_cast<std::byte*>(address));
    if (found == blocks_.end() || found->second.kind != kind) {
      return report(cudaErrorInvalidValue,
                    std::string(call) + ": not the start of a live allocation of this kind");
    }
    const std::size_t bytes = found->second.bytes;
    const std::size_t lead = round_up(round_up(bytes, alignment), page) - round_up(bytes, alignment);
    std::byte* first = found->first - lead;
    used_ -= kind == MemoryKind::device ? bytes : 0;
    unregister_global(address);
    blocks_.erase(found);
    forbid(first, round_up(bytes, page));
    AddressSpace::give_back(first, round_up(bytes, alignment));
    return cudaSuccess;
  }

  /// The block that `address` lies in, with its first byte; null first byte: none.
  std::pair<const std::byte*, Block> find(const void* address) {
    const std::lock_guard lock(mutex_);
    const auto* wanted = static_cast<const std::byte*>(address);
    auto next = blocks_.upper_bound(const_cast<std::byte*>(wanted));
    if (next == blocks_.begin()) {
      return {nullptr, {}};
    }
    --next;
    return wanted < next->first + next->second.bytes ? std::pair<const std::byte*, Block>(*next)
                                                     : std::pair<const std::byte*, Block>(nullptr, {});
  }

  std::size_t free_bytes() {
    const std::lock_guard lock(mutex_);
    return settings().memory_bytes - used_;
  }

  void begin_access() {
    if (settings().guard) {
      const std::lock_guard lock(mutex_);
      if (active_++ == 0) {
        addresses(MemoryKind::device).protect(PROT_READ | PROT_WRITE);
      }
    }
  }

  void end_access() {
    if (settings().guard) {
      const std::lock_guard lock(mutex_);
      if (--active_ == 0) {
        addresses(MemoryKind::device).protect(PROT_NONE);
      }
    }
  }

 private:
  AddressSpace& addresses(MemoryKind kind) { return kind == MemoryKind::device ? device_ : pinned_; }

  std::mutex mutex_;
  AddressSpace device_;
  AddressSpace pinned_;
  std::map<std::byte*, Block> blocks_;  // by first byte
  std::size_t used_ = 0;                // of device memory
  int active_ = 0;
};

MemoryMap& memory() {
  static auto* map = new MemoryMap;  // never destroyed: buffers may outlive static objects
  return *map;
}

const char* kind_name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::device:
      return "device memory";
    case MemoryKind::pinned:
      return "page-locked host memory";
    case MemoryKind::pageable:
      break;
  }
  return "memory that CUDA does not know";
}

/// Says what is wrong with a copy's or a fill's range, at the call rather than when it runs.
cudaError_t check_argument(const char* call, const char* name, const void* address, std::size_t bytes,
                           MemoryKind kind) {
  const std::string wrong = check_range(address, bytes, kind);
  return wrong.empty() ? cudaSuccess
                       : report(cudaErrorInvalidValue, std::string(call) + ": " + name + ": " + wrong);
}

/// Host memory that the copy reads when it runs, or, where it is pageable, at once.
cudaError_t copy_to_device(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  if (memory_kind(from) == MemoryKind::pinned) {
    const cudaError_t code = check_argument("cudaMemcpyAsync", "source", from, bytes, MemoryKind::pinned);
    return code != cudaSuccess ? code : try_enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  }
  const auto* first = static_cast<const std::byte*>(from);
  return try_enqueue(stream, [to, content = std::vector<std::byte>(first, first + bytes)] {
    std::memcpy(to, content.data(), content.size());
  });
}

}  // namespace

MemoryKind memory_kind(const void* address) {
  const auto [first, block] = memory().find(address);
  return first == nullptr ? MemoryKind::pageable : block.kind;
}

std::string check_range(const void* address, std::size_t bytes, MemoryKind kind) {
  const auto [first, block] = memory().find(address);
  if (first == nullptr || block.kind != kind) {
    return std::string(kind_name(first == nullptr ? MemoryKind::pageable : block.kind)) + ", wanted " +
           kind_name(kind);
  }
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - first);
  if (bytes > block.bytes - offset) {
    std::ostringstream text;
    text << "bytes " << offset << " to " << offset + bytes << " of an allocation of " << block.bytes;
    return text.str();
  }
  return {};
}

DeviceMemoryAccess::DeviceMemoryAccess() {
  memory().begin_access();
}

DeviceMemoryAccess::~DeviceMemoryAccess() {
  memory().end_access();
}

}  // namespace cuda_on_host

using namespace cuda_on_host;

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  CUDA_ON_HOST_ENTER();
  *pointer = nullptr;
  const DeviceMemoryAccess access;
  return bytes == 0 ? cudaSuccess : memory().allocate(pointer, bytes, MemoryKind::device);
}

cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) {
    return cudaSuccess;
  }
  synchronize_streams();
  return memory().release(pointer, MemoryKind::device, "cudaFree");
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned int /*flags*/) {
  CUDA_ON_HOST_ENTER();
  *pointer = nullptr;
  return bytes == 0 ? cudaSuccess : memory().allocate(pointer, bytes, MemoryKind::pinned);
}

cudaError_t cudaFreeHost(void* pointer) {
  if (pointer == nullptr) {
    return cudaSuccess;
  }
  synchronize_streams();
  return memory().release(pointer, MemoryKind::pinned, "cudaFreeHost");
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  CUDA_ON_HOST_ENTER();
  *free = memory().free_bytes();
  *total = settings().memory_bytes;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  CUDA_ON_HOST_ENTER();
  if (bytes == 0) {
    return cudaSuccess;
  }
  const bool to_host = kind == cudaMemcpyDeviceToHost;
  if (!to_host && kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice) {
    return report(cudaErrorInvalidMemcpyDirection, "cudaMemcpyAsync: name the direction of the copy");
  }
  // To pageable memory it would wait for all earlier work, silently: a step must not.
  cudaError_t code = check_argument("cudaMemcpyAsync", "destination", to, bytes,
                                    to_host ? MemoryKind::pinned : MemoryKind::device);
  if (code != cudaSuccess) {
    return code;
  }
  if (kind == cudaMemcpyHostToDevice) {
    return copy_to_device(to, from, bytes, stream);
  }
  code = check_argument("cudaMemcpyAsync", "source", from, bytes, MemoryKind::device);
  return code != cudaSuccess ? code : try_enqueue(stream, [=] { std::memcpy(to, from, bytes); });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  CUDA_ON_HOST_ENTER();
  if (bytes == 0) {
    return cudaSuccess;
  }
  const cudaError_t code = check_argument("cudaMemsetAsync", "destination", to, bytes, MemoryKind::device);
  return code != cudaSuccess ? code : try_enqueue(stream, [=] { std::memset(to, value, bytes); });
}
