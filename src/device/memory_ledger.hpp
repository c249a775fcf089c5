#pragma once

#include <cstddef>
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

}  // namespace shardgpt
