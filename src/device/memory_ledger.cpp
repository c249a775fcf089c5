#include "device/memory_ledger.hpp"

#include <algorithm>

namespace shardgpt {

void MemoryLedger::add(const std::string& category, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto found = std::ranges::find(table_, category, &MemoryUse::category);
  if (found == table_.end()) {
    found = table_.insert(table_.end(), MemoryUse{category, 0, 0});
  }
  found->bytes += bytes;
  found->peak_bytes = std::max(found->peak_bytes, found->bytes);
}

void MemoryLedger::remove(const std::string& category, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(table_, category, &MemoryUse::category);
  if (found != table_.end()) {
    found->bytes -= bytes;
  }
}

std::vector<MemoryUse> MemoryLedger::table() const {
  const std::lock_guard lock(mutex_);
  return table_;
}

}  // namespace shardgpt
