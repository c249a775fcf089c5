#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "device/failure.hpp"

namespace shardgpt {

/// The records of one event: numbered when issued, reached in order. Issuing is done by one thread.
class TicketCounter {
 public:
  /// A new record's number, from 1 on.
  std::uint64_t issue() { return ++issued_; }
  /// The last record issued; 0: none.
  [[nodiscard]] std::uint64_t issued() const { return issued_; }

  void reach(std::uint64_t ticket);
  /// Blocks until `ticket` is reached or the device has failed. False: it failed first.
  [[nodiscard]] bool wait(std::uint64_t ticket, const Failure& failure);
  /// When the last ticket was reached, in seconds of the steady clock.
  [[nodiscard]] double last_reached() const;

 private:
  std::uint64_t issued_ = 0;  // issuing thread only
  mutable std::mutex
      mutex_;  // each event has its own: threads are ordered by the events they share, by nothing else
  std::condition_variable changed_;
  std::uint64_t reached_ = 0;
  std::chrono::steady_clock::time_point reached_at_;
};

}  // namespace shardgpt
