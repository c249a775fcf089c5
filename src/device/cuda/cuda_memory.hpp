#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "device/device.hpp"
#include "device/memory_ledger.hpp"

namespace shardgpt {

/// Memory of device `index`, 256-byte aligned, entered in `ledger` until it is released; its content is
/// undefined. Throws Error naming category, size and what is free where there is not enough.
[[nodiscard]] Buffer allocate_cuda_buffer(int index, std::shared_ptr<MemoryLedger> ledger, std::size_t bytes,
                                          const std::string& category);

/// The same for zero-filled, page-locked host memory.
[[nodiscard]] Buffer allocate_pinned_buffer(std::shared_ptr<MemoryLedger> ledger, std::size_t bytes,
                                            const std::string& category);

}  // namespace shardgpt
