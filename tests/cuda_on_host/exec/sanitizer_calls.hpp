#pragma once

#include <cstddef>

/// AddressSanitizer's interface, as weak symbols: this code is compiled once, without a sanitizer, and finds
/// them where the program is linked with one.
// NOLINTBEGIN(bugprone-reserved-identifier): the names are the sanitizer's
extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack_save, const void* bottom,
                                                  std::size_t size);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack_save, const void** bottom_old,
                                                   std::size_t* size_old);
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* address, std::size_t size);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* address, std::size_t size);
[[gnu::weak]] void* __asan_region_is_poisoned(void* address, std::size_t size);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace cuda_on_host {

inline void poison(const void* address, std::size_t bytes) {
  if (__asan_poison_memory_region != nullptr) {
    __asan_poison_memory_region(address, bytes);
  }
}

inline void unpoison(const void* address, std::size_t bytes) {
  if (__asan_unpoison_memory_region != nullptr) {
    __asan_unpoison_memory_region(address, bytes);
  }
}

inline bool is_poisoned(const void* address, std::size_t bytes) {
  return __asan_region_is_poisoned != nullptr &&
         __asan_region_is_poisoned(const_cast<void*>(address), bytes) != nullptr;  // NOLINT(*-const-cast)
}

}  // namespace cuda_on_host
