#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace cuda_on_host {

/// The machine that the host implementation pretends to be. Read from the environment at first use; a test
/// may change it before its first CUDA call.
struct Settings {
  bool driver = true;        ///< CUDA_ON_HOST_DRIVER=0: as on a machine without one
  int physical_devices = 8;  ///< CUDA_ON_HOST_DEVICES
  /// Physical devices that the process sees, by CUDA_VISIBLE_DEVICES (numbers only); as the driver has it,
  /// the list ends at the first entry that is none.
  std::vector<int> visible;
  std::size_t memory_bytes = std::size_t{16} << 30;  ///< of each device: CUDA_ON_HOST_MEMORY_MIB
  std::optional<unsigned> delay_seed;  ///< CUDA_ON_HOST_DELAYS: random delays before work of any stream
  std::optional<int>
      slow_stream;  ///< CUDA_ON_HOST_SLOW_STREAM: the stream, by creation, whose work all waits 1 ms
  /// CUDA_ON_HOST_GUARD=1: device memory can be touched only while work runs on some stream, so that a host
  /// thread that reads or writes it with an idle device ends in a segmentation fault.
  bool guard = false;
};

[[nodiscard]] Settings& settings();

}  // namespace cuda_on_host
