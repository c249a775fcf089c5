#include "train/hold_up_meter.hpp"

#include <algorithm>
#include <vector>

namespace shardgpt {
namespace {

constexpr std::size_t remembered_steps = 31;

}  // namespace

void HoldUpMeter::begin_save() {
  beside_ = 0;
  steps_beside_ = 0;
  still_ = 0;
}

void HoldUpMeter::step_took(double seconds, bool beside_save) {
  if (beside_save) {
    beside_ += seconds;
    ++steps_beside_;
    return;
  }
  quiet_.push_back(seconds);
  if (quiet_.size() > remembered_steps) {
    quiet_.pop_front();
  }
}

double HoldUpMeter::held_up() const {
  const double usual = usual_step().value_or(0);
  const double excess = usual > 0 ? beside_ - static_cast<double>(steps_beside_) * usual : 0;
  return still_ + std::max(0.0, excess);
}

std::optional<double> HoldUpMeter::usual_step() const {
  if (quiet_.empty()) {
    return std::nullopt;
  }
  std::vector<double> sorted(quiet_.begin(), quiet_.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  return *middle;
}

}  // namespace shardgpt
