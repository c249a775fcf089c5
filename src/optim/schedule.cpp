#include "optim/schedule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/error.hpp"

namespace shardgpt {
namespace {

constexpr std::array<std::pair<std::string_view, ScheduleKind>, 4> names = {
    {{"cosine", ScheduleKind::cosine},
     {"linear", ScheduleKind::linear},
     {"constant", ScheduleKind::constant},
     {"wsd", ScheduleKind::wsd}}};

}  // namespace

void LearningRateSchedule::validate() const {
  SHARDGPT_REQUIRE(std::isfinite(lr) && lr >= 0, "--lr must be a number that is not negative");
  SHARDGPT_REQUIRE(std::isfinite(min_lr) && min_lr >= 0 && min_lr <= lr,
                   "--min-lr must lie between 0 and --lr");
  SHARDGPT_REQUIRE(total_steps >= 1, "the run has no steps: give --steps or --epochs");
  SHARDGPT_REQUIRE(warmup_steps >= 0 && warmup_steps <= total_steps,
                   "--warmup-steps is " + std::to_string(warmup_steps) +
                       ", wanted 0 to the number of steps " + std::to_string(total_steps));
  if (kind == ScheduleKind::wsd) {
    SHARDGPT_REQUIRE(decay_steps >= 0 && decay_steps <= total_steps - warmup_steps,
                     "--decay-steps is " + std::to_string(decay_steps) + ", wanted 0 to " +
                         std::to_string(total_steps - warmup_steps) + " (steps behind the warm-up)");
  }
}

double LearningRateSchedule::at(std::int64_t step) const {
  if (step < warmup_steps) {
    return lr * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  }
  const double done = static_cast<double>(step - warmup_steps) /
                      static_cast<double>(std::max<std::int64_t>(1, total_steps - warmup_steps));
  switch (kind) {
    case ScheduleKind::cosine:
      return min_lr + 0.5 * (1 + std::cos(std::numbers::pi * done)) * (lr - min_lr);
    case ScheduleKind::linear:
      return lr + done * (min_lr - lr);
    case ScheduleKind::constant:
      return lr;
    case ScheduleKind::wsd: {
      const std::int64_t decay_begin = total_steps - decay_steps;
      if (step < decay_begin) {
        return lr;
      }
      const double decayed = static_cast<double>(step - decay_begin) /
                             static_cast<double>(std::max<std::int64_t>(1, decay_steps));
      return lr + decayed * (min_lr - lr);
    }
  }
  return lr;
}

std::optional<ScheduleKind> schedule_kind(std::string_view name) {
  const auto* found = std::ranges::find(names, name, [](const auto& entry) { return entry.first; });
  return found == names.end() ? std::nullopt : std::optional(found->second);
}

std::string schedule_name(ScheduleKind kind) {
  return std::string(std::ranges::find(names, kind, [](const auto& entry) { return entry.second; })->first);
}

}  // namespace shardgpt
