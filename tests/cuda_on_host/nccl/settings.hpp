#pragma once

#include <cstdint>
#include <optional>

namespace nccl_on_host {

/// How the network misbehaves. Read from the environment at first use; a test may change it.
struct Settings {
  /// NCCL_ON_HOST_LAUNCH_DELAY_US: a call returns at once and its work is launched at random up to this much
  /// later, as the communicator's own thread does on a GPU. 0: before the call returns.
  unsigned launch_delay_us = 300;
  /// NCCL_ON_HOST_STUCK: from this operation (1 = the first) on, this process answers its peers no more.
  std::optional<std::uint64_t> stuck_at;
  /// NCCL_ON_HOST_ERROR: behind this many operations the communicator reports an error of the network.
  std::optional<std::uint64_t> error_behind;
  /// NCCL_ON_HOST_ABORT_HANGS=1: aborting a communicator never returns.
  bool abort_hangs = false;
};

[[nodiscard]] Settings& settings();

}  // namespace nccl_on_host
