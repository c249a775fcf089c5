#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "device/device.hpp"
#include "device/memory_ledger.hpp"

namespace shardgpt {

/// Zero-filled memory from the host's allocator, page-aligned and entered in `ledger` until it is released.
[[nodiscard]] Buffer allocate_host_buffer(std::shared_ptr<MemoryLedger> ledger, std::size_t bytes,
                                          const std::string& category);

}  // namespace shardgpt
