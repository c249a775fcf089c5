#include "tests/cuda_on_host/runtime/streams.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include <cuda_runtime_api.h>

#include "tests/cuda_on_host/runtime/devices.hpp"
#include "tests/cuda_on_host/runtime/errors.hpp"
#include "tests/cuda_on_host/runtime/memory.hpp"
#include "tests/cuda_on_host/runtime/queue.hpp"
#include "tests/cuda_on_host/runtime/settings.hpp"

/// What a stream handle points to.
struct CUstream_st {
  CUstream_st(int number, int device) : queue(number, device) {}
  cuda_on_host::StreamQueue queue;
};

/// What an event handle points to.
struct CUevent_st {
  bool timing = true;
  // Shared with queued edges: an event may be destroyed while a stream still refers to it.
  std::shared_ptr<cuda_on_host::Marks> marks = std::make_shared<cuda_on_host::Marks>();
};

namespace cuda_on_host {

std::uint64_t Marks::issue() {
  const std::lock_guard lock(mutex_);
  return ++issued_;
}

std::uint64_t Marks::issued() const {
  const std::lock_guard lock(mutex_);
  return issued_;
}

void Marks::reach(std::uint64_t mark) {
  {
    const std::lock_guard lock(mutex_);
    reached_ = mark;
    reached_at_ = std::chrono::steady_clock::now();
  }
  changed_.notify_all();
}

bool Marks::reached(std::uint64_t mark) const {
  const std::lock_guard lock(mutex_);
  return reached_ >= mark;
}

void Marks::wait(std::uint64_t mark) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reached_ >= mark; });
}

std::chrono::steady_clock::time_point Marks::last_reached() const {
  const std::lock_guard lock(mutex_);
  return reached_at_;
}

StreamQueue::StreamQueue(int number, int device)
    : number_(number),
      device_(device),
      random_(settings().delay_seed.value_or(0) * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(number) +
              1U),
      thread_([this] { run(); }) {}

StreamQueue::~StreamQueue() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void StreamQueue::push_work(std::function<void()> task) {
  push_edge([this, work = std::move(task)] { run_work(work); });
}

void StreamQueue::push_edge(std::function<void()> edge) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(edge));
  }
  changed_.notify_one();
}

bool StreamQueue::idle() {
  const std::lock_guard lock(mutex_);
  return tasks_.empty() && !busy_;
}

void StreamQueue::wait_until_idle() {
  std::unique_lock lock(mutex_);
  emptied_.wait(lock, [this] { return tasks_.empty() && !busy_; });
}

void StreamQueue::run() {
  std::deque<std::function<void()>> taken;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      busy_ = false;
      if (tasks_.empty()) {
        emptied_.notify_all();
      }
      changed_.wait(lock, [this] { return !tasks_.empty() || closing_; });
      if (tasks_.empty()) {
        return;
      }
      taken.swap(tasks_);
      busy_ = true;
    }
    for (; !taken.empty(); taken.pop_front()) {
      taken.front()();
    }
  }
}

void StreamQueue::run_work(const std::function<void()>& task) {
  if (device_failure() != cudaSuccess) {
    return;
  }
  delay();
  try {
    const DeviceMemoryAccess access;
    task();
  } catch (const std::exception& error) {
    fail_device(cudaErrorLaunchFailure, std::string("work on a stream has failed: ") + error.what());
  }
}

void StreamQueue::delay() {
  if (settings().slow_stream == number_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (settings().delay_seed) {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t drawn = random_ >> 33U;
    if (drawn % 5 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(drawn / 5 % 400));
    }
  }
}

namespace {

/// Every stream of the process.
class StreamRegistry {
 public:
  cudaStream_t create(int device) {
    const std::lock_guard lock(mutex_);
    return *streams_.insert(new CUstream_st(created_++, device)).first;
  }
  bool contains(cudaStream_t stream) {
    const std::lock_guard lock(mutex_);
    return streams_.contains(stream);
  }
  /// False where there is no such stream.
  bool destroy(cudaStream_t stream) {
    {
      const std::lock_guard lock(mutex_);
      if (streams_.erase(stream) == 0) {
        return false;
      }
    }
    delete stream;
    return true;
  }
  void synchronize() {
    const std::lock_guard lock(mutex_);
    for (const cudaStream_t stream : streams_) {
      stream->queue.wait_until_idle();
    }
  }

 private:
  std::mutex mutex_;
  std::set<cudaStream_t> streams_;
  int created_ = 0;
};

StreamRegistry& streams() {
  static auto* registry = new StreamRegistry;  // never destroyed: threads may outlive static objects
  return *registry;
}

cudaError_t check_stream(cudaStream_t stream, const char* call) {
  CUDA_ON_HOST_ENTER();
  if (stream == nullptr) {
    return report(cudaErrorInvalidResourceHandle,
                  std::string(call) + ": the default stream is not modelled, since it serialises others");
  }
  return streams().contains(stream)
             ? cudaSuccess
             : report(cudaErrorInvalidResourceHandle, std::string(call) + ": no such stream");
}

}  // namespace

void synchronize_streams() {
  streams().synchronize();
}

cudaError_t try_enqueue(cudaStream_t stream, std::function<void()> work) {
  if (const cudaError_t code = check_stream(stream, "work for a stream"); code != cudaSuccess) {
    return code;
  }
  stream->queue.push_work(std::move(work));
  return cudaSuccess;
}

void enqueue(cudaStream_t stream, std::function<void()> work) {
  // A launch that no device takes; what failed earlier is told by the next call that can.
  if (try_enqueue(stream, std::move(work)) == cudaErrorInvalidResourceHandle) {
    throw std::invalid_argument("a launch on something that is no stream");
  }
}

}  // namespace cuda_on_host

using namespace cuda_on_host;

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int /*priority*/) {
  CUDA_ON_HOST_ENTER();
  if (flags != cudaStreamNonBlocking) {
    return report(cudaErrorInvalidValue,
                  "cudaStreamCreateWithPriority: a stream that waits for the default stream is not modelled");
  }
  *stream = streams().create(current_device());
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return streams().destroy(stream)
             ? cudaSuccess
             : report(cudaErrorInvalidResourceHandle, "cudaStreamDestroy: no such stream");
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (const cudaError_t code = check_stream(stream, "cudaStreamQuery"); code != cudaSuccess) {
    return code;
  }
  return stream->queue.idle() ? cudaSuccess : report(cudaErrorNotReady);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (const cudaError_t code = check_stream(stream, "cudaStreamSynchronize"); code != cudaSuccess) {
    return code;
  }
  stream->queue.wait_until_idle();
  return report(device_failure());
}

cudaError_t cudaDeviceSynchronize() {
  CUDA_ON_HOST_ENTER();
  synchronize_streams();
  return report(device_failure());
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int /*flags*/) {
  if (const cudaError_t code = check_stream(stream, "cudaStreamWaitEvent"); code != cudaSuccess) {
    return code;
  }
  const std::uint64_t mark = event->marks->issued();
  if (mark > 0) {
    stream->queue.push_edge([marks = event->marks, mark] { marks->wait(mark); });
  }
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  CUDA_ON_HOST_ENTER();
  *event = new CUevent_st{.timing = (flags & cudaEventDisableTiming) == 0};
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (const cudaError_t code = check_stream(stream, "cudaEventRecord"); code != cudaSuccess) {
    return code;
  }
  stream->queue.push_edge([marks = event->marks, mark = event->marks->issue()] { marks->reach(mark); });
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  CUDA_ON_HOST_ENTER();
  return event->marks->reached(event->marks->issued()) ? cudaSuccess : report(cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  CUDA_ON_HOST_ENTER();
  event->marks->wait(event->marks->issued());
  return report(device_failure());
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  CUDA_ON_HOST_ENTER();
  for (const cudaEvent_t event : {start, end}) {
    if (!event->timing || event->marks->issued() == 0) {
      return report(cudaErrorInvalidResourceHandle, "cudaEventElapsedTime: an event without time or record");
    }
    if (!event->marks->reached(event->marks->issued())) {
      return report(cudaErrorNotReady);
    }
  }
  *ms = std::chrono::duration<float, std::milli>(end->marks->last_reached() - start->marks->last_reached())
            .count();
  return cudaSuccess;
}
