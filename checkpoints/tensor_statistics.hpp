#pragma once

#include <cstdint>
#include <span>

namespace shardgpt {

/// Statistics of values that come in pieces. Values that are not finite are counted and otherwise left out.
class TensorStatistics {
 public:
  void add(std::span<const float> values);

  [[nodiscard]] std::int64_t non_finite() const { return non_finite_; }
  /// Of the finite values; not a number where there are none.
  [[nodiscard]] double mean() const;
  [[nodiscard]] double std_dev() const;  ///< of the values as a whole population
  /// The finite value of largest magnitude, with its sign; 0 where there are none.
  [[nodiscard]] double largest() const { return largest_; }

 private:
  std::int64_t finite_ = 0;
  std::int64_t non_finite_ = 0;
  double mean_ = 0;
  double squares_ = 0;  ///< sum of (value - mean)²
  double largest_ = 0;
};

}  // namespace shardgpt
