#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "tests/cuda_on_host/nccl/transport.hpp"

namespace nccl_on_host {

enum class Kind : std::uint64_t { all_gather = 1, reduce_scatter };

/// One call. `count` as the call has it: of what is sent by all_gather, of what is received by
/// reduce_scatter.
struct Operation {
  Kind kind = Kind::all_gather;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  cudaStream_t stream = nullptr;
};

/// Bytes of one element; 0: not modelled.
[[nodiscard]] std::size_t type_bytes(ncclDataType_t type);

/// What the handle, the thread that launches and the operations on streams share.
class Shared {
 public:
  Shared(int own_rank, int ranks) : rank(own_rank), size(ranks), transport(own_rank, ranks, aborted) {}

  const int rank;
  const int size;
  std::atomic<bool> aborted = false;
  /// What ncclCommGetAsyncError tells.
  std::atomic<ncclResult_t> state = ncclInProgress;

  void fail(ncclResult_t code, const std::string& why);
  [[nodiscard]] const char* last_error();

  /// Waits until operation `number` is the next one, exchanges its data and lets the next one go on. On a
  /// stream's thread. Operations run in the order of their calls, whichever streams they are on.
  void run(std::uint64_t number, const Operation& operation);
  /// Blocks until `count` operations are done, or the communicator is aborted.
  void wait_until_done(std::uint64_t count);

  Transport transport;

 private:
  void exchange(const Operation& operation);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t done_ = 0;
  std::string error_;
};

}  // namespace nccl_on_host

/// A communicator: calls go to a thread that launches them later, as in a non-blocking communicator of NCCL.
struct ncclComm {
 public:
  ncclComm(int rank, int size, const nccl_on_host::MeetingPoint& meeting, bool blocking);
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;
  ~ncclComm();

  [[nodiscard]] ncclResult_t submit(const nccl_on_host::Operation& operation);
  [[nodiscard]] ncclResult_t finalize();
  void abort();
  [[nodiscard]] nccl_on_host::Shared& shared() { return *shared_; }

 private:
  /// Runs `task` on the launching thread; what ncclCommGetAsyncError tells is "in progress" until it is done.
  [[nodiscard]] ncclResult_t later(std::function<void()> task);
  void run();
  void launch(std::uint64_t number, const nccl_on_host::Operation& operation);

  // Operations on streams may outlive an aborted communicator.
  std::shared_ptr<nccl_on_host::Shared> shared_;
  bool blocking_;
  std::uint64_t issued_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool closing_ = false;
  std::thread thread_;  // last: it uses the members above
};
