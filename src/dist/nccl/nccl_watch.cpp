#include "dist/nccl/nccl_watch.hpp"

#include <exception>

#include <cuda_runtime_api.h>

#include "core/log.hpp"
#include "device/cuda/cuda_check.hpp"

namespace shardgpt {
namespace {

constexpr std::size_t most_operations = 1024;
constexpr std::chrono::milliseconds between_looks{20};

int current_device() {
  int device = 0;
  SHARDGPT_CUDA(cudaGetDevice(&device));
  return device;
}

}  // namespace

NcclWatch::NcclWatch(NcclComm& comm, Failure& failure, std::chrono::seconds time_out)
    : comm_(comm), failure_(failure), time_out_(time_out), device_(current_device()) {
  for (std::size_t i = 0; i < most_operations; ++i) {
    operations_.push_back(std::make_unique<Operation>(failure));
  }
  thread_ = std::thread([this] { run(); });
}

NcclWatch::~NcclWatch() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (aborter_.joinable()) {
    end_process_unless(aborted_, "NCCL could not be aborted");
    aborter_.join();
  }
}

void NcclWatch::end_process_unless(const bool& over, const std::string& reason) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, grace, [&over] { return over; })) {
    log_error(reason + "; the process could not end by itself within " + std::to_string(grace.count()) +
              " s");
    MpiSession::abort(exit_error);
  }
}

void NcclWatch::begin(const char* what, Stream& stream) {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (issued_ - done_ < operations_.size()) {
        break;
      }
    }
    failure_.rethrow();
    std::this_thread::sleep_for(between_looks / 4);
  }
  // The slot is not in the list yet: only this thread touches it.
  Operation& next = operation(issued_);
  next.what = what;
  stream.record(next.begun);
}

void NcclWatch::end(Stream& stream) {
  stream.record(operation(issued_).done);
  const std::lock_guard lock(mutex_);
  ++issued_;
}

void NcclWatch::run() {
  try {
    SHARDGPT_CUDA(cudaSetDevice(device_));
    std::unique_lock lock(mutex_);
    while (!closing_) {
      const std::string wrong = look();
      if (!wrong.empty()) {
        lock.unlock();
        fail(wrong);
        return;
      }
      changed_.wait_for(lock, between_looks);
    }
  } catch (...) {
    failure_.set(std::current_exception());
  }
}

std::string NcclWatch::look() {
  const std::string reported = comm_.asynchronous_error();
  if (!reported.empty()) {
    return "NCCL reports an error behind operation " + std::to_string(done_) + " of this run: " + reported;
  }
  const Clock::time_point now = Clock::now();
  for (; done_ < issued_ && operation(done_).done.reached(); ++done_) {
    running_since_ = Clock::time_point::max();
  }
  if (done_ == issued_ || !operation(done_).begun.reached()) {
    return {};
  }
  running_since_ = std::min(running_since_, now);
  if (now - running_since_ <= time_out_) {
    return {};
  }
  return std::string("peers have not completed ") + operation(done_).what + " (operation " +
         std::to_string(done_ + 1) + " of this run) for " + std::to_string(time_out_.count()) +
         " s: a rank is lost or stuck";
}

void NcclWatch::fail(const std::string& message) {
  failure_.set(std::make_exception_ptr(Error(message)));
  aborter_ = std::thread([this] {
    comm_.abort();
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    changed_.notify_all();
  });
  end_process_unless(closing_, message);
}

}  // namespace shardgpt
