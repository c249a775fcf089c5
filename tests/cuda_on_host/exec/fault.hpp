#pragma once

#include <stdexcept>
#include <string>

namespace cuda_on_host {

/// What a kernel did wrong.
enum class FaultKind {
  barrier,        ///< a barrier that not all threads of the block reach, or at different places
  warp,           ///< a warp operation with lanes missing, or different ones
  bounds,         ///< memory outside every allocation, or a misaligned address
  async_copy,     ///< copies that nobody waited for
  race,           ///< two threads, one byte, at least one write, nothing between that orders them
  uninitialised,  ///< shared memory read before it was written
};

/// A kernel was stopped; the message names block, thread and source line.
class KernelFault : public std::runtime_error {
 public:
  KernelFault(FaultKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] FaultKind kind() const { return kind_; }

 private:
  FaultKind kind_;
};

}  // namespace cuda_on_host
