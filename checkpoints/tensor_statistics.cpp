#include "checkpoints/tensor_statistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace shardgpt {
namespace {

constexpr std::size_t chunk_values = 4096;  // in the first cache for two passes

struct Moments {
  std::int64_t count = 0;
  double mean = 0;
  double squares = 0;
};

bool is_finite(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7f800000U) != 0x7f800000U;
}

/// Two passes: no cancellation, and loops that vectorise.
Moments moments_of(std::span<const float> values) {
  Moments moments;
  double sum = 0;
  for (const float value : values) {
    const bool finite = is_finite(value);
    sum += finite ? static_cast<double>(value) : 0.0;
    moments.count += finite ? 1 : 0;
  }
  moments.mean = moments.count > 0 ? sum / static_cast<double>(moments.count) : 0.0;
  for (const float value : values) {
    const double distance = is_finite(value) ? static_cast<double>(value) - moments.mean : 0.0;
    moments.squares += distance * distance;
  }
  return moments;
}

}  // namespace

void TensorStatistics::add(std::span<const float> values) {
  for (std::size_t done = 0; done < values.size(); done += chunk_values) {
    const auto chunk = values.subspan(done, std::min(chunk_values, values.size() - done));
    const Moments more = moments_of(chunk);
    // Chan, Golub, LeVeque 1979: moments of two sets joined.
    const std::int64_t count = finite_ + more.count;
    if (more.count > 0) {
      const double apart = more.mean - mean_;
      const double share = static_cast<double>(more.count) / static_cast<double>(count);
      mean_ += apart * share;
      squares_ += more.squares + apart * apart * share * static_cast<double>(finite_);
    }
    finite_ = count;
    non_finite_ += static_cast<std::int64_t>(chunk.size()) - more.count;
    for (const float value : chunk) {
      if (is_finite(value) && std::abs(static_cast<double>(value)) > std::abs(largest_)) {
        largest_ = value;
      }
    }
  }
}

double TensorStatistics::mean() const {
  return finite_ > 0 ? mean_ : std::numeric_limits<double>::quiet_NaN();
}

double TensorStatistics::std_dev() const {
  return finite_ > 0 ? std::sqrt(squares_ / static_cast<double>(finite_))
                     : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace shardgpt
