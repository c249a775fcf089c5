#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "tests/cuda_on_host/exec/access_observer.hpp"

namespace cuda_on_host {

/// Who accessed a byte, and when: in which block of which launch, after how many barriers of the block and
/// synchronisations of the warp.
struct Stamp {
  static constexpr std::uint16_t atomic_flag = 0x8000;
  static constexpr std::uint16_t thread_bits = 0x7fff;

  std::uint32_t block_serial = 0;  ///< 0: nobody
  std::uint32_t barrier_epoch = 0;
  std::uint32_t code = 0;    ///< offset in the program, rounded up to what fits
  std::uint16_t thread = 0;  ///< in the block, with atomic_flag
  std::uint16_t warp_epoch = 0;

  [[nodiscard]] unsigned thread_number() const { return thread & thread_bits; }
  [[nodiscard]] unsigned warp() const { return thread_number() / 32; }
  [[nodiscard]] bool is_atomic() const { return (thread & atomic_flag) != 0; }
};

/// What is remembered of one byte. Three readers stand for all: who conflicts with a reader that was
/// forgotten conflicts, but for rare cases, with one of these.
struct ByteShadow {
  Stamp write;
  Stamp newest_read;
  Stamp other_warp_read;  ///< the newest of another warp or block than newest_read's
  Stamp other_lane_read;  ///< the newest of another lane of newest_read's warp, no synchronisation between
};

/// The shadow of one piece of memory that kernels may use, 64 bytes a byte; pages that are never touched cost
/// nothing.
struct ShadowRegion {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  MemorySpace space = MemorySpace::global;
  ByteShadow* bytes = nullptr;
};

/// All of them, by address. Not for several threads at once.
class ShadowMemory {
 public:
  ShadowMemory() = default;
  ShadowMemory(const ShadowMemory&) = delete;
  ShadowMemory& operator=(const ShadowMemory&) = delete;
  ~ShadowMemory();

  void add(const void* address, std::size_t bytes, MemorySpace space);
  void remove(const void* address);
  /// The region that holds this address, nullptr if there is none.
  ShadowRegion* find(std::uintptr_t address);

 private:
  static void release(ShadowRegion& region);

  std::map<std::uintptr_t, ShadowRegion> regions_;
  ShadowRegion* last_ = nullptr;
};

}  // namespace cuda_on_host
