#pragma once

#include <memory>
#include <mutex>

#include <cuda_runtime_api.h>

#include "device/device.hpp"
#include "device/failure.hpp"

namespace shardgpt {

/// An event that also takes time. Waiting for it polls, so that a failure that no CUDA call would report (a
/// lost peer) ends the wait.
class CudaEvent final : public Event {
 public:
  explicit CudaEvent(const Failure& failure);
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent() override;

  void synchronize() override;
  [[nodiscard]] double seconds_since(const Event& earlier) const override;

  [[nodiscard]] cudaEvent_t raw() const { return raw_; }
  /// Whether the last record is reached, or there is none.
  [[nodiscard]] bool reached() const;

 private:
  const Failure& failure_;
  cudaEvent_t raw_ = nullptr;
};

enum class StreamPriority { usual, high };

/// One CUDA stream, which no other stream waits for by itself.
class CudaStream final : public Stream {
 public:
  CudaStream(StreamRole role, StreamPriority priority, Failure& failure);
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() override;

  [[nodiscard]] StreamRole role() const override { return role_; }
  void wait(const Event& event, const char* what) override;
  void record(Event& event) override;
  void synchronize() override;

  [[nodiscard]] cudaStream_t raw() const { return raw_; }
  [[nodiscard]] Failure& failure() const { return failure_; }

 private:
  StreamRole role_;
  Failure& failure_;
  cudaStream_t raw_ = nullptr;
  CudaEvent end_;
};

/// The stream to launch on. Throws std::logic_error for a stream of another device.
[[nodiscard]] cudaStream_t raw_stream(Stream& stream);

/// Where a failure is put that CUDA knows nothing of: every wait for the device of `stream` throws it from
/// then on. Throws std::logic_error for a stream of another device.
[[nodiscard]] Failure& failure_of(Stream& stream);

}  // namespace shardgpt
