/// What code compiled with -fsanitize=thread calls at each access, linked in place of ThreadSanitizer: the
/// calls are the compiler's interface, the meaning is the race checker's.
// NOLINTBEGIN(bugprone-reserved-identifier,bugprone-macro-parentheses): the names are the compiler's; a macro
// argument is a type

#include <cstddef>
#include <cstdint>

#include "tests/cuda_on_host/exec/kernel_calls.hpp"
#include "tests/cuda_on_host/race/race_checker.hpp"

namespace {

using cuda_on_host::AccessKind;
using cuda_on_host::RaceChecker;

RaceChecker& checker() {
  static auto& the_checker = *new RaceChecker;  // never destroyed: streams may outlive static objects
  return the_checker;
}

struct Registration {
  Registration() { cuda_on_host::set_access_observer(&checker()); }
};
const Registration registration;

/// `alignment`: what the compiler counts on.
void report(const void* address, std::size_t bytes, std::size_t alignment, AccessKind kind,
            const void* code) {
  if (cuda_on_host::kernel_context.thread == nullptr) {
    return;  // code of the host
  }
  if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0) {
    cuda_on_host::stop_kernel(
        cuda_on_host::FaultKind::bounds, [] { return "the address is misaligned"; }, code);
  }
  checker().access(address, bytes, kind, code);
}

}  // namespace

#define CUDA_ON_HOST_CALLER __builtin_return_address(0)

// 16 bytes may be a structure that is aligned to 8.
#define CUDA_ON_HOST_RECEIVERS(bytes)                                                          \
  void __tsan_read##bytes(void* address) {                                                     \
    report(address, bytes, (bytes) < 8 ? (bytes) : 8, AccessKind::read, CUDA_ON_HOST_CALLER);  \
  }                                                                                            \
  void __tsan_write##bytes(void* address) {                                                    \
    report(address, bytes, (bytes) < 8 ? (bytes) : 8, AccessKind::write, CUDA_ON_HOST_CALLER); \
  }                                                                                            \
  void __tsan_unaligned_read##bytes(void* address) {                                           \
    report(address, bytes, 1, AccessKind::read, CUDA_ON_HOST_CALLER);                          \
  }                                                                                            \
  void __tsan_unaligned_write##bytes(void* address) {                                          \
    report(address, bytes, 1, AccessKind::write, CUDA_ON_HOST_CALLER);                         \
  }

// std::atomic and the guards of static variables; kernels have neither.
#define CUDA_ON_HOST_ATOMICS(bits, Type)                                                                    \
  Type __tsan_atomic##bits##_load(const volatile Type* address, int /*order*/) {                            \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                         \
  void __tsan_atomic##bits##_store(volatile Type* address, Type value, int /*order*/) {                     \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                                     \
  }                                                                                                         \
  Type __tsan_atomic##bits##_exchange(volatile Type* address, Type value, int /*order*/) {                  \
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                                           \
  }                                                                                                         \
  Type __tsan_atomic##bits##_fetch_add(volatile Type* address, Type value, int /*order*/) {                 \
    return __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST);                                            \
  }                                                                                                         \
  Type __tsan_atomic##bits##_fetch_sub(volatile Type* address, Type value, int /*order*/) {                 \
    return __atomic_fetch_sub(address, value, __ATOMIC_SEQ_CST);                                            \
  }                                                                                                         \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile Type* address, Type* expected, Type value,     \
                                                    int /*success*/, int /*failure*/) {                     \
    return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) \
               ? 1                                                                                          \
               : 0;                                                                                         \
  }

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void* /*caller*/) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** /*address*/, void* /*value*/) {}
void __tsan_vptr_read(void** /*address*/) {}
void __tsan_atomic_thread_fence(int /*order*/) {}
void __tsan_atomic_signal_fence(int /*order*/) {}

CUDA_ON_HOST_RECEIVERS(1)
CUDA_ON_HOST_RECEIVERS(2)
CUDA_ON_HOST_RECEIVERS(4)
CUDA_ON_HOST_RECEIVERS(8)
CUDA_ON_HOST_RECEIVERS(16)

void __tsan_read_range(void* address, std::size_t bytes) {
  report(address, bytes, 1, AccessKind::read, CUDA_ON_HOST_CALLER);
}
void __tsan_write_range(void* address, std::size_t bytes) {
  report(address, bytes, 1, AccessKind::write, CUDA_ON_HOST_CALLER);
}

CUDA_ON_HOST_ATOMICS(8, std::uint8_t)
CUDA_ON_HOST_ATOMICS(32, std::uint32_t)
CUDA_ON_HOST_ATOMICS(64, std::uint64_t)

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,bugprone-macro-parentheses)
