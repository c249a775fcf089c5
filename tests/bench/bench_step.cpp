// Speed of the operations of one training step on one device: forward and backward of a GPT-2 with random
// weights, no sharding, no optimizer.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "bench/bench_model.hpp"
#include "bench/bench_products.hpp"
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
  std::map<std::string, std::function<void(const std::string&)>> known;
  const auto number = [&](const char* flag, auto& value) {
    known[flag] = [&value](const std::string& text) {
      value = static_cast<std::remove_reference_t<decltype(value)>>(std::stol(text));
    };
  };
  number("--layers", options.config.layers);
  number("--heads", options.config.heads);
  number("--embd", options.config.embd);
  number("--vocab", options.config.vocab);
  number("--batch", options.config.batch);
  number("--seq-len", options.config.seq_len);
  number("--threads", options.threads);
  number("--steps", options.steps);
  number("--product-repeats", options.product_repeats);
  known["--ops"] = [&](const std::string& text) { options.ops = text; };
  known["--precision"] = [&](const std::string& text) { options.precision = text; };
  known["--clock"] = [&](const std::string& text) {
    options.clock = text == "cpu" ? BenchClock::cpu : BenchClock::wall;
  };
  for (int i = 1; i < argc; i += 2) {
    const auto found = known.find(argv[i]);
    if (found == known.end() || i + 1 == argc) {
      std::string usage = "usage: bench_step";
      for (const auto& [flag, set] : known) {
        usage += " [" + flag + " VALUE]";
      }
      throw std::invalid_argument(usage);
    }
    found->second(argv[i + 1]);
  }
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
