#pragma once

#include <functional>
#include <memory>

#include "device/device.hpp"

namespace shardgpt {

/// Called by the host device around its work; for tests and diagnosis. Calls come from the issuing thread
/// (keep_wait) and from the stream's own thread (before_task).
class HostStreamHooks {
 public:
  virtual ~HostStreamHooks() = default;
  virtual void before_task(StreamRole /*role*/) {}
  /// false drops the wait: the race that results must be found by the tests.
  [[nodiscard]] virtual bool keep_wait(StreamRole /*role*/, const char* /*what*/) { return true; }
};

struct HostDeviceOptions {
  int compute_threads = 1;  ///< OpenMP threads of the compute stream
  std::shared_ptr<HostStreamHooks> hooks;
};

/// The CPU device: worker threads for compute and copy, one communication thread for gather and reduce.
[[nodiscard]] std::unique_ptr<Device> make_host_device(const HostDeviceOptions& options);

/// Puts `task` into a stream of a host device. OpenMP regions may be entered only on the compute stream. A
/// task that throws stops the device: later tasks do not run and every synchronize rethrows its exception.
/// Throws std::logic_error for a stream of another device.
void submit(Stream& stream, std::function<void()> task);

}  // namespace shardgpt
