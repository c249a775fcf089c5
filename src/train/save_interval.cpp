#include "train/save_interval.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace shardgpt {

double young_daly_interval(double cost_seconds, double mtbf_seconds) {
  return std::sqrt(2 * cost_seconds * mtbf_seconds);
}

std::string suggest_interval(const SaveCost& cost, double mtbf_hours) {
  const double interval = std::max(young_daly_interval(cost.held_up, mtbf_hours * 3600), cost.durable_after);
  std::string steps;
  if (cost.step_seconds && *cost.step_seconds > 0) {
    steps = fmt::format("{} steps or ",
                        std::max<std::int64_t>(1, std::llround(std::ceil(interval / *cost.step_seconds))));
  }
  return fmt::format(
      "suggested time between checkpoints: {}{:.1f} minutes = sqrt(2 x {:.2f} s held up x {:g} hours between "
      "failures), at least the {:.2f} s that a save takes (Young/Daly; --mtbf-hours)",
      steps, interval / 60, cost.held_up, mtbf_hours, cost.durable_after);
}

}  // namespace shardgpt
