#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/dtype.hpp"

namespace shardgpt {

enum class DeviceKind { cpu, cuda };

/// The four in-order queues of a device; on CUDA four streams. On the CPU `compute` and `copy` are worker
/// threads; `gather` and `reduce` are served by one communication thread in the order in which their work was
/// issued, as NCCL serves one communicator.
enum class StreamRole { compute, gather, reduce, copy };
inline constexpr int stream_role_count = 4;

/// A mark in a stream, with CUDA's meaning: a wait refers to the last record issued before it; none, no wait.
class Event {
 public:
  virtual ~Event() = default;
  /// Blocks the calling host thread until the last record is reached; any thread may call it while no other
  /// record is issued. Rethrows a failure of the device's streams.
  virtual void synchronize() = 0;
  /// Seconds between the last record of `earlier` and the last of this one; both must have been reached.
  [[nodiscard]] virtual double seconds_since(const Event& earlier) const = 0;
};

/// An in-order queue of work. Calls return at once; work runs later. Not thread-safe: one host thread issues.
class Stream {
 public:
  virtual ~Stream() = default;
  [[nodiscard]] virtual StreamRole role() const = 0;
  /// Later work of this stream starts only after the last record of `event` issued so far. `what` names the
  /// edge in diagnostics and tests.
  virtual void wait(const Event& event, const char* what) = 0;
  virtual void record(Event& event) = 0;
  /// Blocks the calling host thread until everything issued so far has run. Rethrows the first failure.
  virtual void synchronize() = 0;
};

/// Move-only owner of device memory, 64-byte aligned at least.
class Buffer {
 public:
  class Storage {
   public:
    virtual ~Storage() = default;
    [[nodiscard]] virtual void* data() const = 0;
  };

  Buffer() = default;
  Buffer(std::unique_ptr<Storage> storage, std::size_t bytes) : storage_(std::move(storage)), bytes_(bytes) {}
  [[nodiscard]] void* data() const { return storage_ ? storage_->data() : nullptr; }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data());
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<Storage> storage_;
  std::size_t bytes_ = 0;
};

/// Bytes held now and at most, per category ("master weights", "activations", ...), in order of first use.
struct MemoryUse {
  std::string category;
  std::size_t bytes = 0;
  std::size_t peak_bytes = 0;
};

/// Owner of streams and memory. Everything below `train` sees the hardware through this class, Ops and
/// Collectives.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual DeviceKind kind() const = 0;
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] virtual Stream& stream(StreamRole role) = 0;
  [[nodiscard]] virtual std::unique_ptr<Event> make_event() = 0;
  /// Zero-filled; the host may touch it on the CPU only. Throws Error naming category and size where there is
  /// no memory.
  [[nodiscard]] virtual Buffer allocate(std::size_t bytes, const std::string& category) = 0;
  /// The same for host memory that downloads run into beside compute: page-locked where that matters.
  [[nodiscard]] virtual Buffer allocate_host(std::size_t bytes, const std::string& category) = 0;
  [[nodiscard]] virtual std::vector<MemoryUse> memory_use() const = 0;

  /// Element-wise work on a stream; pointers are device memory that must live until the work has run.
  virtual void copy(void* to, const void* from, std::size_t bytes, Stream& stream) = 0;
  virtual void fill_zero(void* to, std::size_t bytes, Stream& stream) = 0;
  /// Converts float to `type` (round to nearest even), or copies where `type` is f32.
  virtual void cast(void* to, DType type, const float* from, std::size_t count, Stream& stream) = 0;
  /// Host memory to device memory, contents taken before the call returns.
  virtual void upload(void* to, const void* host, std::size_t bytes, Stream& stream) = 0;
  /// Device memory to host memory; `host` must live, and not be read, until the stream has passed this point.
  /// It comes from allocate_host: to any other memory a CUDA device would copy only when all before is done,
  /// and hold up the host until then.
  virtual void download(void* host, const void* from, std::size_t bytes, Stream& stream) = 0;
};

}  // namespace shardgpt
