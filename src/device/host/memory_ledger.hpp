#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace shardgpt {

/// Counts the bytes of each category, now and at most.
class MemoryLedger {
 public:
  void add(const std::string& category, std::size_t bytes);
  void remove(const std::string& category, std::size_t bytes) noexcept;
  [[nodiscard]] std::vector<MemoryUse> table() const;

 private:
  mutable std::mutex mutex_;
  std::vector<MemoryUse> table_;
};

/// Zero-filled memory from the host's allocator, page-aligned and entered in `ledger` until it is released.
[[nodiscard]] Buffer allocate_host_buffer(std::shared_ptr<MemoryLedger> ledger, std::size_t bytes,
                                          const std::string& category);

}  // namespace shardgpt
