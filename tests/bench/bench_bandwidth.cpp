#include "bench/bench_bandwidth.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "bench/bench_model.hpp"
#include "device/host/host_device.hpp"
#include "kernels/cpu/parallel.hpp"

namespace shardgpt::bench {
namespace {

constexpr std::int64_t count = std::int64_t{32} << 20;  // floats of one array: 128 MiB

void update(std::int64_t first, std::int64_t last, float* a, float* b, float* c, const float* d) {
  for (std::int64_t i = first; i < last; ++i) {
    const float value = d[i];
    a[i] += value;
    b[i] += value;
    c[i] += value;
  }
}

/// Independent sums, so that the additions do not wait for one another.
float sum(std::int64_t first, std::int64_t last, const float* a) {
  constexpr std::int64_t lanes = 64;
  float sums[lanes] = {};
  for (std::int64_t i = first; i + lanes <= last; i += lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      sums[lane] += a[i + lane];
    }
  }
  return *std::max_element(sums, sums + lanes);
}

template <class Work>
double best_rate(int repeats, double bytes, Work&& work) {
  double best = 0;
  for (int i = 0; i <= repeats; ++i) {
    const double start = seconds_now(BenchClock::wall);
    cpu::parallel_ranges(count, 1, work);
    best = std::max(best, bytes / (seconds_now(BenchClock::wall) - start) * 1e-9);
  }
  return best;
}

}  // namespace

Bandwidth measure_bandwidth(int repeats) {
  const auto device = make_host_device({});
  Buffer arrays[4];
  for (Buffer& array : arrays) {
    array = device->allocate(static_cast<std::size_t>(count) * sizeof(float), "benchmark");
  }
  float* a = arrays[0].as<float>();
  float* b = arrays[1].as<float>();
  float* c = arrays[2].as<float>();
  float* d = arrays[3].as<float>();
  constexpr double array_bytes = static_cast<double>(count) * sizeof(float);
  Bandwidth result;
  result.update = best_rate(repeats, 7 * array_bytes, [&](std::int64_t first, std::int64_t last, int) {
    update(first, last, a, b, c, d);
  });
  result.read = best_rate(repeats, array_bytes, [&](std::int64_t first, std::int64_t last, int) {
    a[first] = sum(first, last, d);
  });
  return result;
}

}  // namespace shardgpt::bench
