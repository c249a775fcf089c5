#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "device/cuda/cuda_stream.hpp"
#include "dist/nccl/nccl_comm.hpp"

namespace shardgpt {

/// Looks after the operations of one communicator, since NCCL may never report a peer that died. An operation
/// that has begun and is not done within the time-out, or an error that NCCL reports by itself, fails the
/// device's streams; then the communicator is aborted, so that the streams go on and whoever waits for them
/// is told. Where the process has not ended `grace` after that (aborting may hang, and so may a CUDA call),
/// it is ended from here: a job whose peer is lost is over time-out + grace after the loss.
class NcclWatch {
 public:
  static constexpr std::chrono::seconds grace{30};

  NcclWatch(NcclComm& comm, Failure& failure, std::chrono::seconds time_out);
  NcclWatch(const NcclWatch&) = delete;
  NcclWatch& operator=(const NcclWatch&) = delete;
  ~NcclWatch();

  /// Around the issue of one operation to `stream`. One thread calls them. `begin` waits for older operations
  /// where very many are under way.
  void begin(const char* what, Stream& stream);
  void end(Stream& stream);

 private:
  using Clock = std::chrono::steady_clock;
  struct Operation {
    explicit Operation(const Failure& failure) : begun(failure), done(failure) {}
    const char* what = "";
    CudaEvent begun;
    CudaEvent done;
  };

  void run();
  /// Takes the operations that are done out of the list, and returns what is wrong with the oldest one left.
  [[nodiscard]] std::string look();
  void fail(const std::string& message);
  /// Waits for `over`, which mutex_ guards, as long as the grace lasts.
  void end_process_unless(const bool& over, const std::string& reason);
  Operation& operation(std::uint64_t number) { return *operations_[number % operations_.size()]; }

  NcclComm& comm_;
  Failure& failure_;
  std::chrono::seconds time_out_;
  int device_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  bool aborted_ = false;
  std::vector<std::unique_ptr<Operation>> operations_;
  std::uint64_t issued_ = 0;  // operations that `end` was called for
  std::uint64_t done_ = 0;    // of these, the oldest that are done
  /// Since when the oldest operation has been running, as far as was seen; none: it has not begun.
  Clock::time_point running_since_ = Clock::time_point::max();
  std::thread aborter_;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace shardgpt
