#pragma once

#include <cstddef>

namespace cuda_on_host {

/// Device memory, 256-byte aligned, every bit set: NaN in FP32 and BF16, so that what nobody wrote shows. Of
/// exactly this size for AddressSanitizer and the race checker. nullptr if there is none.
void* allocate_global(std::size_t bytes);
void free_global(void* address);

/// Tells the race checker of host memory that kernels may use (pinned buffers), and that they may not any
/// more.
void register_global(const void* address, std::size_t bytes);
void unregister_global(const void* address);

}  // namespace cuda_on_host
