#pragma once

#include <cstddef>
#include <deque>
#include <optional>

namespace shardgpt {

/// Measures by how much a save beside training delays it: the steps that ran beside it, against the median of
/// those that did not. So it counts all causes: waiting for the copy, shared cores, memory and network.
class HoldUpMeter {
 public:
  /// A save begins; what was measured of the one before is dropped.
  void begin_save();
  /// A step took `seconds`, beside the save in flight or without one.
  void step_took(double seconds, bool beside_save);
  /// The host stood still for the save, in a time that no step counts.
  void stood_still(double seconds) { still_ += seconds; }

  /// Seconds by which the save delayed training so far; without a usual step to compare with only the time it
  /// stood still.
  [[nodiscard]] double held_up() const;
  /// Median of the latest steps without a save.
  [[nodiscard]] std::optional<double> usual_step() const;

 private:
  std::deque<double> quiet_;  // the latest steps without a save
  double beside_ = 0;
  std::size_t steps_beside_ = 0;
  double still_ = 0;
};

}  // namespace shardgpt
