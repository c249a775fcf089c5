#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardgpt {

enum class ScheduleKind { cosine, linear, constant, wsd };

/// Learning rate as a pure function of the step. Step s = 0, 1, ... of N; warm-up w.
/// s < w: lr (s + 1) / w. Then with t = (s - w) / max(1, N - w):
/// cosine: min + (1 + cos pi t) (lr - min) / 2; linear: lr + t (min - lr); constant: lr;
/// wsd: lr until the last d steps, then linear to min over d.
struct LearningRateSchedule {
  ScheduleKind kind = ScheduleKind::cosine;
  double lr = 3e-4;
  double min_lr = 0;
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;  ///< d, wsd only
  std::int64_t total_steps = 1;  ///< N

  /// Throws InputError naming the option: rates must be finite, 0 <= min <= lr, w <= N, d <= N - w.
  void validate() const;
  [[nodiscard]] double at(std::int64_t step) const;
};

[[nodiscard]] std::optional<ScheduleKind> schedule_kind(std::string_view name);
[[nodiscard]] std::string schedule_name(ScheduleKind kind);

}  // namespace shardgpt
