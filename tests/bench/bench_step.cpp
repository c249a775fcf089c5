// Speed of the operations of one training step on one device: forward and backward of a GPT-2 with random
// weights, no sharding, no optimizer.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "bench/bench_model.hpp"
#include "bench/bench_products.hpp"
#include "bench/flags.hpp"
#include "device/host/host_device.hpp"

namespace shardgpt::bench {
namespace {

struct Options {
  BenchConfig config;
  std::string ops = "cpu";
  std::string precision = "bf16";
  BenchClock clock = BenchClock::wall;
  int threads = 2;
  int steps = 3;
  int product_repeats = 5;
};

Options parse(int argc, char** argv) {
  Options options;
  std::string clock = "wall";
  Flags flags;
  flags.number("--layers", options.config.layers);
  flags.number("--heads", options.config.heads);
  flags.number("--embd", options.config.embd);
  flags.number("--vocab", options.config.vocab);
  flags.number("--batch", options.config.batch);
  flags.number("--seq-len", options.config.seq_len);
  flags.number("--threads", options.threads);
  flags.number("--steps", options.steps);
  flags.number("--product-repeats", options.product_repeats);
  flags.text("--ops", options.ops);
  flags.text("--precision", options.precision);
  flags.text("--clock", clock);
  flags.parse(argc, argv);
  options.clock = clock == "cpu" ? BenchClock::cpu : BenchClock::wall;
  if (options.ops != "cpu" && options.ops != "reference") {
    throw std::invalid_argument("--ops is cpu or reference");
  }
  if (options.precision != "bf16" && options.precision != "fp32") {
    throw std::invalid_argument("--precision is bf16 or fp32");
  }
  return options;
}

void print_times(const OpTimes& times, int steps) {
  const double total = times.total();
  std::printf("\n%-22s %10s %7s\n", "operation", "ms a step", "share");
  for (const auto& [kind, seconds] : times.seconds()) {
    std::printf("%-22s %10.1f %6.1f%%\n", kind.c_str(), seconds / steps * 1e3, seconds / total * 100);
  }
}

int run(const Options& options) {
  const BenchConfig& config = options.config;
  const DType dtype = options.precision == "bf16" ? DType::bf16 : DType::f32;
  const auto device = make_host_device({.compute_threads = options.threads, .hooks = nullptr});
  const auto ops = options.ops == "cpu" ? make_cpu_ops(*device, dtype, config.limits())
                                        : make_reference_ops(*device, dtype, config.limits());
  Stream& compute = device->stream(StreamRole::compute);
  BenchModel model(*device, *ops, config);
  OpTimes times(compute, options.clock);
  model.step(times);  // makes the primitives and touches the memory
  times.clear();
  double peak = 0;
  const auto measure_peak = [&] {
    submit(compute, [&] {
      peak = std::max(peak, measure_products(config, dtype, options.clock, options.product_repeats));
    });
    compute.synchronize();
  };
  if (options.ops == "cpu") {
    measure_peak();
  }
  double best = 0;
  for (int step = 0; step < options.steps; ++step) {
    const double before = times.total();
    model.step(times);
    best = std::max(best, static_cast<double>(config.tokens()) / (times.total() - before));
  }
  const double tokens_per_s = options.steps * static_cast<double>(config.tokens()) / times.total();
  print_times(times, options.steps);
  for (const MemoryUse& use : device->memory_use()) {
    std::printf("memory: %s %.1f MB\n", use.category.c_str(), static_cast<double>(use.peak_bytes) * 1e-6);
  }
  const double rate = tokens_per_s * config.flops_per_token() * 1e-9;
  std::printf("loss %.6f; %.1f tokens/s (best step %.1f), %.1f GFLOP/s", model.loss(), tokens_per_s, best,
              rate);
  if (peak > 0) {
    std::printf(", %.3f of the %.1f GFLOP/s of oneDNN's forward products", rate / peak, peak);
  }
  std::printf("\n");
  return 0;
}

}  // namespace
}  // namespace shardgpt::bench

int main(int argc, char** argv) {
  try {
    return shardgpt::bench::run(shardgpt::bench::parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
