#include "device/host/ticket_counter.hpp"

#include <chrono>

namespace shardgpt {

void TicketCounter::reach(std::uint64_t ticket) {
  {
    const std::lock_guard lock(mutex_);
    reached_ = ticket;
  }
  changed_.notify_all();
}

bool TicketCounter::wait(std::uint64_t ticket, const Failure& failure) {
  std::unique_lock lock(mutex_);
  while (reached_ < ticket) {
    if (failure.happened()) {
      return false;
    }
    changed_.wait_for(lock,
                      std::chrono::milliseconds(100));  // a failure wakes nobody: look for it now and then
  }
  return true;
}

}  // namespace shardgpt
