#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "device/host/host_device.hpp"
#include "dist/collectives.hpp"
#include "kernels/ops.hpp"

namespace shardgpt::bench {

/// Seconds that the threads of a host device spend in each part of the steps since the last clear. Give it to
/// the device as its hooks.
class StepParts final : public HostStreamHooks {
 public:
  /// Whether a section begins where it is made, or with the task issued before it: a gather is a cast and an
  /// all-gather.
  enum class Begin { here, one_task_before };
  /// Charges the time that `stream` takes for what is issued while the section lives to `part`.
  class Section {
   public:
    Section(StepParts& parts, Stream& stream, const char* part, Begin begin = Begin::here);
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;
    ~Section();

   private:
    StepParts& parts_;
    Stream& stream_;
    const char* part_;
  };

  void before_task(StreamRole role) override;
  void clear();
  /// Of work on the compute thread.
  [[nodiscard]] std::map<std::string, double> compute() const;
  /// Of work on the communication thread, beside compute.
  [[nodiscard]] std::map<std::string, double> communication() const;

 private:
  void add(StreamRole role, const char* part, double seconds);

  /// Of one stream, used by its thread.
  struct Clock {
    double started = 0;   // of the section
    double latest = 0;    // start of the task that runs
    double previous = 0;  // start of the task before it
  };
  std::array<Clock, stream_role_count> clocks_;
  mutable std::mutex mutex_;
  std::map<std::string, double> compute_;
  std::map<std::string, double> communication_;
};

/// Operations that charge their time: products, attention, layer norm, gelu, classifier, embedding,
/// optimizer.
[[nodiscard]] std::unique_ptr<Ops> make_timed_ops(std::unique_ptr<Ops> ops, StepParts& parts);
/// Collectives that charge their time, waiting for peers included: gather, reduce, all-reduce.
[[nodiscard]] std::unique_ptr<Collectives> make_timed_collectives(std::unique_ptr<Collectives> collectives,
                                                                  StepParts& parts);

}  // namespace shardgpt::bench
