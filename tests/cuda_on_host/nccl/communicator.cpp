#include "tests/cuda_on_host/nccl/communicator.hpp"

#include <chrono>
#include <cstring>
#include <iostream>
#include <random>
#include <utility>
#include <vector>

#include <cuda_bf16.h>

#include "tests/cuda_on_host/nccl/settings.hpp"
#include "tests/cuda_on_host/runtime/errors.hpp"
#include "tests/cuda_on_host/runtime/streams.hpp"

namespace nccl_on_host {
namespace {

using Bytes = std::vector<std::byte>;

/// sum += part, element by element in the type of the operation, as rings of NCCL do.
template <class T>
void add(Bytes& sum, const Bytes& part, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    T a;
    T b;
    std::memcpy(&a, sum.data() + i * sizeof(T), sizeof(T));
    std::memcpy(&b, part.data() + i * sizeof(T), sizeof(T));
    a = static_cast<T>(a + b);
    std::memcpy(sum.data() + i * sizeof(T), &a, sizeof(T));
  }
}

template <>
void add<__nv_bfloat16>(Bytes& sum, const Bytes& part, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    __nv_bfloat16 a;
    __nv_bfloat16 b;
    std::memcpy(&a, sum.data() + i * sizeof(a), sizeof(a));
    std::memcpy(&b, part.data() + i * sizeof(b), sizeof(b));
    a = __float2bfloat16_rn(__bfloat162float(a) + __bfloat162float(b));
    std::memcpy(sum.data() + i * sizeof(a), &a, sizeof(a));
  }
}

void add(Bytes& sum, const Bytes& part, std::size_t count, ncclDataType_t type) {
  if (type == ncclFloat32) {
    add<float>(sum, part, count);
  } else if (type == ncclFloat64) {
    add<double>(sum, part, count);
  } else {
    add<__nv_bfloat16>(sum, part, count);
  }
}

}  // namespace

std::size_t type_bytes(ncclDataType_t type) {
  switch (type) {
    case ncclFloat32:
      return sizeof(float);
    case ncclFloat64:
      return sizeof(double);
    case ncclBfloat16:
      return sizeof(__nv_bfloat16);
    default:
      return 0;
  }
}

void Shared::fail(ncclResult_t code, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    error_ = why;
  }
  std::cerr << ("nccl_on_host: " + why + "\n") << std::flush;
  state = code;
}

const char* Shared::last_error() {
  const std::lock_guard lock(mutex_);
  return error_.c_str();
}

void Shared::run(std::uint64_t number, const Operation& operation) {
  wait_until_done(number - 1);
  try {
    if (settings().stuck_at && number >= *settings().stuck_at) {
      while (!aborted) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    if (!aborted) {
      transport.compare({number, static_cast<std::uint64_t>(operation.kind),
                         static_cast<std::uint64_t>(operation.type), operation.count});
      exchange(operation);
    }
  } catch (const Aborted&) {
    // Ends without a result, as a kernel of NCCL that is told to leave.
  } catch (const Mismatch& error) {
    fail(ncclInvalidUsage, error.what());
  }
  {
    const std::lock_guard lock(mutex_);
    done_ = number;
  }
  changed_.notify_all();
  if (settings().error_behind == number) {
    fail(ncclRemoteError, "the connection to a peer broke behind operation " + std::to_string(number));
  }
}

void Shared::wait_until_done(std::uint64_t count) {
  std::unique_lock lock(mutex_);
  while (done_ < count && !aborted && cuda_on_host::device_failure() == cudaSuccess) {
    changed_.wait_for(lock, std::chrono::milliseconds(50));  // nobody wakes it for an abort or a failure
  }
}

void Shared::exchange(const Operation& operation) {
  const auto ranks = static_cast<std::size_t>(size);
  const auto own = static_cast<std::size_t>(rank);
  const std::size_t piece = operation.count * type_bytes(operation.type);
  const auto* send = static_cast<const std::byte*>(operation.send);
  auto* receive = static_cast<std::byte*>(operation.receive);
  const bool scatter = operation.kind == Kind::reduce_scatter;
  // MPI sees copies in host memory only: any thread that is in MPI may move its messages.
  std::vector<Bytes> parts(ranks, Bytes(piece));
  std::vector<std::span<const std::byte>> outgoing;
  std::vector<Bytes*> incoming;
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    outgoing.emplace_back(send + (scatter ? peer * piece : 0), piece);
    incoming.push_back(&parts[peer]);
  }
  std::memcpy(parts[own].data(), outgoing[own].data(), piece);
  transport.exchange(outgoing, incoming);
  if (operation.kind == Kind::all_gather) {
    for (std::size_t peer = 0; peer < ranks; ++peer) {
      std::memcpy(receive + peer * piece, parts[peer].data(), piece);
    }
    return;
  }
  for (std::size_t peer = 1; peer < ranks; ++peer) {
    add(parts[0], parts[peer], operation.count, operation.type);
  }
  std::memcpy(receive, parts[0].data(), piece);
}

}  // namespace nccl_on_host

using namespace nccl_on_host;

ncclComm::ncclComm(int rank, int size, const MeetingPoint& meeting, bool blocking)
    : shared_(std::make_shared<Shared>(rank, size)), blocking_(blocking) {
  tasks_.emplace_back([this, meeting] {
    try {
      shared_->transport.connect(meeting);
    } catch (const Aborted&) {
      return;
    } catch (const std::exception& error) {
      shared_->fail(ncclInvalidUsage, error.what());
      return;
    }
    shared_->state = ncclSuccess;
  });
  thread_ = std::thread([this] { run(); });
}

ncclComm::~ncclComm() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

ncclResult_t ncclComm::later(std::function<void()> task) {
  ncclResult_t state = ncclSuccess;
  if (!shared_->state.compare_exchange_strong(state, ncclInProgress)) {
    if (state == ncclInProgress) {
      state = ncclInvalidUsage;
      shared_->fail(state, "a call while the one before is in progress: poll ncclCommGetAsyncError first");
    }
    return state;
  }
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
  if (!blocking_ && settings().launch_delay_us > 0) {
    return ncclInProgress;
  }
  while (shared_->state == ncclInProgress) {
    std::this_thread::yield();
  }
  return shared_->state;
}

ncclResult_t ncclComm::submit(const Operation& operation) {
  return later([this, number = ++issued_, operation] {
    launch(number, operation);
    ncclResult_t expected = ncclInProgress;
    shared_->state.compare_exchange_strong(expected, ncclSuccess);
  });
}

ncclResult_t ncclComm::finalize() {
  return later([this, count = issued_] {
    shared_->wait_until_done(count);
    ncclResult_t expected = ncclInProgress;
    shared_->state.compare_exchange_strong(expected, ncclSuccess);
  });
}

void ncclComm::abort() {
  while (settings().abort_hangs) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  shared_->aborted = true;
}

void ncclComm::run() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !tasks_.empty() || closing_; });
      if (tasks_.empty() || (closing_ && shared_->aborted)) {
        return;
      }
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

void ncclComm::launch(std::uint64_t number, const Operation& operation) {
  if (settings().launch_delay_us > 0) {
    thread_local std::minstd_rand random(static_cast<unsigned>(shared_->rank) + 1U);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % settings().launch_delay_us));
  }
  const cudaError_t code = cuda_on_host::try_enqueue(
      operation.stream, [shared = shared_, number, operation] { shared->run(number, operation); });
  if (code != cudaSuccess) {
    shared_->fail(ncclUnhandledCudaError, cudaGetErrorString(code));
  }
}
