#pragma once

#include <cstddef>

#if SHARDGPT_THREAD_SANITIZER
extern "C" {
void __tsan_read_range(void* address, unsigned long bytes);
void __tsan_write_range(void* address, unsigned long bytes);
}
#endif

namespace shardgpt {

/// Tells ThreadSanitizer of accesses that libraries without instrumentation (MPI) make for this thread.
#if SHARDGPT_THREAD_SANITIZER
inline void annotate_read(const void* address, std::size_t bytes) {
  __tsan_read_range(const_cast<void*>(address), bytes);
}
inline void annotate_write(void* address, std::size_t bytes) {
  __tsan_write_range(address, bytes);
}
#else
inline void annotate_read(const void* /*address*/, std::size_t /*bytes*/) {}
inline void annotate_write(void* /*address*/, std::size_t /*bytes*/) {}
#endif

}  // namespace shardgpt
