#pragma once

#include <chrono>
#include <random>
#include <thread>

#include "device/host/host_device.hpp"

namespace shardgpt::test {

/// Sleeps at random before tasks, differently on each stream and for each seed.
class RandomDelays final : public HostStreamHooks {
 public:
  explicit RandomDelays(unsigned seed) : seed_(seed) {}
  void before_task(StreamRole role) override {
    thread_local std::minstd_rand random(seed_ * 7919U + static_cast<unsigned>(role) + 1U);
    if (random() % 5 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 400));
    }
  }

 private:
  unsigned seed_;
};

}  // namespace shardgpt::test
