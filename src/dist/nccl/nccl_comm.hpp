#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>

#include <nccl.h>

#include "dist/mpi/mpi_session.hpp"

namespace shardgpt {

/// Move-less owner of a non-blocking communicator. Its calls may return before their work has been launched;
/// an event recorded then would be reached too early and its readers would find old data. So every call is
/// polled to success before it counts as issued.
class NcclComm {
 public:
  /// Collective over `parent`, whose ranks it has; the calling thread's device is the one it works on. Throws
  /// Error where the peers do not come together within `time_out`.
  NcclComm(const MpiComm& parent, std::chrono::seconds time_out);
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;
  /// Waits for the peers within the time-out, unless an exception is on its way or the communicator was
  /// aborted: then a peer may never come. Its streams must be idle.
  ~NcclComm();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  /// Issues `call` and returns when it is launched. One thread issues. Throws NcclError, also where the
  /// communicator is aborted meanwhile; Error where it is not launched within the time-out.
  void issue(const char* what, const std::function<ncclResult_t(ncclComm_t)>& call);

  /// What NCCL has found wrong by itself (a connection that broke), or an empty text. Any thread.
  [[nodiscard]] std::string asynchronous_error();

  /// Makes the operations in flight end, with results that mean nothing. Any thread; may take long or hang,
  /// as NCCL waits for its own threads. Issues nothing more afterwards.
  void abort() noexcept;

 private:
  void await_launch(const char* what);
  void finish() noexcept;

  int rank_;
  int size_;
  std::chrono::seconds time_out_;
  int exceptions_at_birth_;
  std::mutex mutex_;  // held while a call is issued
  std::atomic<bool> aborting_ = false;
  ncclComm_t raw_ = nullptr;
};

/// "2.28.9": of the library that is loaded.
[[nodiscard]] std::string nccl_version();

}  // namespace shardgpt
