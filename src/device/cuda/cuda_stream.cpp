#include "device/cuda/cuda_stream.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/log.hpp"
#include "device/cuda/cuda_check.hpp"

namespace shardgpt {
namespace {

/// For destructors: says what went wrong, unless the driver has left already.
void log_failure(cudaError_t code, const char* call) {
  if (code != cudaSuccess && code != cudaErrorCudartUnloading) {
    log_warning(std::string(call) + ": " + cudaGetErrorName(code));
  }
}

CudaStream& own_stream(Stream& stream) {
  auto* own = dynamic_cast<CudaStream*>(&stream);
  if (own == nullptr) {
    throw std::logic_error("CUDA work issued to a stream of another device");
  }
  return *own;
}

}  // namespace

CudaEvent::CudaEvent(const Failure& failure) : failure_(failure) {
  SHARDGPT_CUDA(cudaEventCreateWithFlags(&raw_, cudaEventDefault));
}

CudaEvent::~CudaEvent() {
  log_failure(cudaEventDestroy(raw_), "cudaEventDestroy");
}

bool CudaEvent::reached() const {
  const cudaError_t code = cudaEventQuery(raw_);
  if (code == cudaErrorNotReady) {
    (void)cudaGetLastError();  // it is an answer, but stays behind as an error
    return false;
  }
  SHARDGPT_CUDA(code);
  return true;
}

void CudaEvent::synchronize() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  while (!reached()) {
    failure_.rethrow();
    const Clock::duration waited = Clock::now() - start;
    if (waited < std::chrono::microseconds(50)) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::clamp<Clock::duration>(waited / 16, std::chrono::microseconds(10),
                                                              std::chrono::microseconds(200)));
    }
  }
  failure_.rethrow();  // what an aborted collective leaves behind is no result
}

double CudaEvent::seconds_since(const Event& earlier) const {
  float milliseconds = 0;
  SHARDGPT_CUDA(cudaEventElapsedTime(&milliseconds, dynamic_cast<const CudaEvent&>(earlier).raw_, raw_));
  return static_cast<double>(milliseconds) * 1e-3;
}

CudaStream::CudaStream(StreamRole role, StreamPriority priority, Failure& failure)
    : role_(role), failure_(failure), end_(failure) {
  int least = 0;
  int greatest = 0;
  SHARDGPT_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  SHARDGPT_CUDA(cudaStreamCreateWithPriority(&raw_, cudaStreamNonBlocking,
                                             priority == StreamPriority::high ? greatest : least));
}

CudaStream::~CudaStream() {
  log_failure(cudaStreamDestroy(raw_), "cudaStreamDestroy");
}

void CudaStream::wait(const Event& event, const char* /*what*/) {
  SHARDGPT_CUDA(cudaStreamWaitEvent(raw_, dynamic_cast<const CudaEvent&>(event).raw(), 0));
}

void CudaStream::record(Event& event) {
  SHARDGPT_CUDA(cudaEventRecord(dynamic_cast<CudaEvent&>(event).raw(), raw_));
}

void CudaStream::synchronize() {
  record(end_);
  end_.synchronize();
}

cudaStream_t raw_stream(Stream& stream) {
  return own_stream(stream).raw();
}

Failure& failure_of(Stream& stream) {
  return own_stream(stream).failure();
}

}  // namespace shardgpt
