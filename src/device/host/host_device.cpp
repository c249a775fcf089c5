#include "device/host/host_device.hpp"

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "device/failure.hpp"
#include "device/host/cast_to_bf16.hpp"
#include "device/host/executor.hpp"
#include "device/host/host_buffer.hpp"
#include "device/host/ticket_counter.hpp"

#if SHARDGPT_USE_OPENMP
#include <omp.h>
#endif

namespace shardgpt {
namespace {

/// On the calling thread's OpenMP threads: for the compute thread.
void fill_zero_in_parallel(void* to, std::size_t bytes) {
  auto* first = static_cast<std::byte*>(to);
  constexpr std::size_t part = std::size_t{2} << 20U;  // below it waking a thread costs more than it saves
  const std::size_t parts = (bytes + part - 1) / part;
#if SHARDGPT_USE_OPENMP
#pragma omp parallel for schedule(static) if (parts > 1)
#endif
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t begin = i * part;
    std::memset(first + begin, 0, begin + part < bytes ? part : bytes - begin);
  }
}

class HostEvent final : public Event {
 public:
  explicit HostEvent(const Failure& failure) : failure_(failure) {}
  void synchronize() override {
    if (!records->wait(records->issued(), failure_)) {
      failure_.rethrow();
    }
  }
  [[nodiscard]] double seconds_since(const Event& earlier) const override {
    return records->last_reached() - dynamic_cast<const HostEvent&>(earlier).records->last_reached();
  }
  // Shared with queued tasks, so that an event may be destroyed while a stream still refers to it.
  const std::shared_ptr<TicketCounter> records = std::make_shared<TicketCounter>();

 private:
  const Failure& failure_;
};

class HostStream final : public Stream {
 public:
  HostStream(StreamRole role, Executor& executor, const Failure& failure, HostStreamHooks* hooks)
      : role_(role), executor_(executor), failure_(failure), hooks_(hooks), end_(failure) {}

  [[nodiscard]] StreamRole role() const override { return role_; }

  void wait(const Event& event, const char* what) override {
    const auto& records = dynamic_cast<const HostEvent&>(event).records;
    if (records->issued() == 0 || (hooks_ != nullptr && !hooks_->keep_wait(role_, what))) {
      return;
    }
    // A failure elsewhere ends the wait; the executor then drops what follows.
    executor_.submit([this, records, ticket = records->issued()] { (void)records->wait(ticket, failure_); });
  }

  void record(Event& event) override {
    const auto& records = dynamic_cast<HostEvent&>(event).records;
    executor_.submit([records, ticket = records->issue()] { records->reach(ticket); });
  }

  void synchronize() override {
    record(end_);
    end_.synchronize();
  }

  void submit(std::function<void()> task) {
    if (hooks_ == nullptr) {
      executor_.submit(std::move(task));
      return;
    }
    executor_.submit([this, work = std::move(task)] {
      hooks_->before_task(role_);
      work();
    });
  }

 private:
  StreamRole role_;
  Executor& executor_;
  const Failure& failure_;
  HostStreamHooks* hooks_;
  HostEvent end_;
};

class HostDevice final : public Device {
 public:
  explicit HostDevice(const HostDeviceOptions& options)
      : threads_(options.compute_threads),
        hooks_(options.hooks),
        communication_(failure_, [] {}),
        copy_(failure_, [] {}),
        compute_(failure_, [threads = options.compute_threads] { use_threads(threads); }),
        streams_{HostStream(StreamRole::compute, compute_, failure_, hooks_.get()),
                 HostStream(StreamRole::gather, communication_, failure_, hooks_.get()),
                 HostStream(StreamRole::reduce, communication_, failure_, hooks_.get()),
                 HostStream(StreamRole::copy, copy_, failure_, hooks_.get())} {}

  [[nodiscard]] DeviceKind kind() const override { return DeviceKind::cpu; }
  [[nodiscard]] std::string description() const override {
    return "cpu, " + std::to_string(threads_) + (threads_ == 1 ? " compute thread" : " compute threads");
  }
  [[nodiscard]] Stream& stream(StreamRole role) override {
    return streams_.at(static_cast<std::size_t>(role));
  }
  [[nodiscard]] std::unique_ptr<Event> make_event() override { return std::make_unique<HostEvent>(failure_); }
  [[nodiscard]] Buffer allocate(std::size_t bytes, const std::string& category) override {
    return allocate_host_buffer(ledger_, bytes, category);
  }
  [[nodiscard]] Buffer allocate_host(std::size_t bytes, const std::string& category) override {
    return allocate(bytes, category);
  }
  [[nodiscard]] std::vector<MemoryUse> memory_use() const override { return ledger_->table(); }

  void copy(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    if (bytes > 0) {  // an empty micro-batch has no memory at all
      shardgpt::submit(stream, [=] { std::memcpy(to, from, bytes); });
    }
  }
  void fill_zero(void* to, std::size_t bytes, Stream& stream) override {
    if (bytes > 0 && stream.role() == StreamRole::compute) {
      shardgpt::submit(stream, [=] { fill_zero_in_parallel(to, bytes); });
    } else if (bytes > 0) {
      shardgpt::submit(stream, [=] { std::memset(to, 0, bytes); });
    }
  }
  void cast(void* to, DType type, const float* from, std::size_t count, Stream& stream) override {
    if (type == DType::f32) {
      copy(to, from, count * sizeof(float), stream);
    } else if (type == DType::bf16) {
      shardgpt::submit(stream, [=] { cast_to_bf16(static_cast<bf16*>(to), from, count); });
    } else {
      throw std::logic_error("cast to a type that holds no real numbers");
    }
  }
  void upload(void* to, const void* host, std::size_t bytes, Stream& stream) override {
    if (bytes == 0) {
      return;
    }
    const auto* first = static_cast<const std::byte*>(host);
    shardgpt::submit(stream, [to, content = std::vector<std::byte>(first, first + bytes)] {
      std::memcpy(to, content.data(), content.size());
    });
  }
  void download(void* host, const void* from, std::size_t bytes, Stream& stream) override {
    copy(host, from, bytes, stream);
  }

 private:
  static void use_threads([[maybe_unused]] int threads) {
#if SHARDGPT_USE_OPENMP
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
#endif
  }

  int threads_;
  std::shared_ptr<HostStreamHooks> hooks_;
  std::shared_ptr<MemoryLedger> ledger_ = std::make_shared<MemoryLedger>();
  Failure failure_;
  // The executors end (in reverse order) before what their tasks refer to.
  Executor communication_;
  Executor copy_;
  Executor compute_;
  std::array<HostStream, stream_role_count> streams_;
};

}  // namespace

std::unique_ptr<Device> make_host_device(const HostDeviceOptions& options) {
  return std::make_unique<HostDevice>(options);
}

void submit(Stream& stream, std::function<void()> task) {
  auto* host = dynamic_cast<HostStream*>(&stream);
  if (host == nullptr) {
    throw std::logic_error("host work submitted to a stream of another device");
  }
  host->submit(std::move(task));
}

}  // namespace shardgpt
