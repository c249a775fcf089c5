#include "device/host/ticket_counter.hpp"

namespace shardgpt {

void TicketCounter::reach(std::uint64_t ticket) {
  {
    const std::lock_guard lock(mutex_);
    reached_ = ticket;
    reached_at_ = std::chrono::steady_clock::now();
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

double TicketCounter::last_reached() const {
  const std::lock_guard lock(mutex_);
  return std::chrono::duration<double>(reached_at_.time_since_epoch()).count();
}

}  // namespace shardgpt
