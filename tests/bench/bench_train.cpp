// Speed of whole training steps as shardgpt-train runs them: shards, gathers, reductions, optimizer and data,
// with the time of each part and the machine's limits measured behind it.
// Usage: mpiexec -n N bench_train --output FILE [FLAG VALUE]...; rank 0 writes FILE, in JSON.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/bench_bandwidth.hpp"
#include "bench/bench_model.hpp"
#include "bench/bench_products.hpp"
#include "bench/flags.hpp"
#include "bench/timed_parts.hpp"
#include "core/philox.hpp"
#include "core/this_process.hpp"
#include "device/host/host_device.hpp"
#include "dist/mpi/mpi_collectives.hpp"
#include "tokens/shard_writer.hpp"
#include "tokens/window_batches.hpp"
#include "train/plan.hpp"
#include "train/trainer.hpp"
#include "train/version.hpp"

namespace shardgpt::bench {
namespace {

struct Options {
  TrainConfig config;
  std::string output;
  std::int64_t steps = 4;
  std::int64_t warm_up = 1;
  int product_repeats = 5;
};

Options parse(int argc, char** argv) {
  Options options;
  TrainConfig& config = options.config;
  config.model.preset = "gpt2";
  config.data.seq_len = 512;
  config.data.global_batch = 4;
  config.device.threads = 1;
  Flags flags;
  flags.text("--model", config.model.preset);
  flags.number("--layers", config.model.layers);
  flags.number("--heads", config.model.heads);
  flags.number("--embd", config.model.embd);
  flags.number("--vocab", config.model.vocab);
  flags.number("--batch", config.data.global_batch);
  flags.number("--micro-batch", config.data.micro_batch);
  flags.number("--seq-len", config.data.seq_len);
  flags.text("--precision", config.device.precision);
  flags.number("--threads", config.device.threads);
  flags.text("--recompute", config.device.recompute);
  flags.number("--steps", options.steps);
  flags.number("--warm-up", options.warm_up);
  flags.number("--product-repeats", options.product_repeats);
  flags.text("--output", options.output);
  flags.parse(argc, argv);
  if (options.output.empty()) {
    throw std::invalid_argument("--output FILE is missing");
  }
  return options;
}

/// A figure of /proc/self/status, in bytes.
std::int64_t status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) {
      return std::stoll(line.substr(name.size() + 1)) * 1024;
    }
  }
  return 0;
}

/// A token shard with random ids that lives as long as this object.
class RandomTokens {
 public:
  RandomTokens(const MpiComm& comm, std::int64_t tokens, std::int64_t vocab)
      : comm_(comm),
        path_(comm.broadcast((std::filesystem::temp_directory_path() /
                              ("shardgpt-bench-" + std::to_string(seconds_now(BenchClock::wall)) + ".bin"))
                                 .string(),
                             0)) {
    if (comm.rank() == 0) {
      const RandomStream random(1, RandomPurpose::test, 1);
      std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens));
      for (std::size_t i = 0; i < ids.size(); ++i) {
        ids[i] = static_cast<std::int32_t>(random.uniform(i) * static_cast<double>(vocab));
      }
      ShardWriter writer(path_, TokenType::u16);
      writer.append(ids);
      (void)writer.finish();
      writer.publish();
    }
    comm.barrier();
  }
  RandomTokens(const RandomTokens&) = delete;
  RandomTokens& operator=(const RandomTokens&) = delete;
  ~RandomTokens() {
    if (comm_.rank() == 0) {
      std::error_code ignored;
      std::filesystem::remove(path_, ignored);
    }
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  const MpiComm& comm_;
  std::string path_;
};

class Bench {
 public:
  Bench(const Options& options, const MpiComm& comm)
      : options_(options),
        comm_(comm),
        model_(model_from_options(options.config.model, 0)),
        table_(model_),
        dtype_(options.config.device.precision == "fp32" ? DType::f32 : DType::bf16),
        micro_batch_(choose_micro_batch(options.config.data, comm.size())),
        parts_(std::make_shared<StepParts>()),
        device_(make_host_device(
            {.compute_threads = static_cast<int>(options.config.device.threads), .hooks = parts_})),
        ops_(make_timed_ops(make_cpu_ops(*device_, dtype_, ops_limits(options.config, model_, micro_batch_)),
                            *parts_)),
        collectives_(make_timed_collectives(make_mpi_collectives(comm, std::chrono::seconds(600)), *parts_)) {
  }

  nlohmann::ordered_json run() {
    const DataOptions& data = options_.config.data;
    const std::int64_t tokens_per_step = data.global_batch * data.seq_len;
    const RandomTokens tokens(comm_, 8 * tokens_per_step + 1, model_.vocab);
    {
      const auto dataset =
          std::make_shared<const TokenDataset>(TokenDataset::open(tokens.path(), model_.vocab));
      const Sampler sampler({.tokens = dataset->tokens(),
                             .seq_len = data.seq_len,
                             .global_batch = data.global_batch,
                             .seed = 1});
      SampledBatches batches(dataset, sampler, comm_.rank(), comm_.size());
      train(batches);
    }
    measure_limits();
    return report(static_cast<double>(tokens_per_step));
  }

 private:
  void train(BatchSource& batches) {
    Trainer trainer(*device_, *ops_, *collectives_, table_,
                    {.seq_len = options_.config.data.seq_len,
                     .global_batch = options_.config.data.global_batch,
                     .micro_batch = micro_batch_,
                     .unshard_slots = static_cast<int>(options_.config.device.unshard_slots),
                     .recompute = recompute_from_options(options_.config.device)});
    trainer.initialize(1);
    for (std::int64_t step = 0; step < options_.warm_up; ++step) {
      trainer.submit_step(step, batches.batch(step), 1e-5, {});
      (void)trainer.collect();
    }
    comm_.barrier();
    parts_->clear();
    double last = seconds_now(BenchClock::wall);
    const auto collect = [&] {
      loss_ = trainer.collect().scalars.loss;
      const double now = seconds_now(BenchClock::wall);
      step_seconds_.push_back(now - last);
      last = now;
    };
    for (std::int64_t step = options_.warm_up; step < options_.warm_up + options_.steps; ++step) {
      const double before = seconds_now(BenchClock::wall);
      const Batch batch = batches.batch(step);
      data_seconds_ += seconds_now(BenchClock::wall) - before;
      trainer.submit_step(step, batch, 1e-5, {});
      if (trainer.pending() > 1) {  // as in training: the next step is issued before a report is read
        collect();
      }
    }
    while (trainer.pending() > 0) {
      collect();
    }
    memory_ = device_->memory_use();
    peak_resident_ = status_bytes("VmHWM");
  }

  void measure_limits() {
    const DataOptions& data = options_.config.data;
    const BenchConfig shapes{.layers = model_.layers,
                             .heads = model_.heads,
                             .embd = model_.embd,
                             .vocab = model_.vocab,
                             .batch = micro_batch_,
                             .seq_len = data.seq_len};
    comm_.barrier();
    Stream& compute = device_->stream(StreamRole::compute);
    submit(compute, [&] {
      matrix_peak_ = measure_products(shapes, dtype_, BenchClock::wall, options_.product_repeats);
    });
    compute.synchronize();
    comm_.barrier();
    submit(compute, [&] { bandwidth_ = measure_bandwidth(4); });
    compute.synchronize();
  }

  [[nodiscard]] double sum_over_ranks(double value) const {
    return 1e-6 * static_cast<double>(comm_.sum(static_cast<std::int64_t>(value * 1e6)));
  }

  nlohmann::ordered_json report(double tokens_per_step) {
    std::vector<double> sorted = step_seconds_;
    std::ranges::sort(sorted);
    const double step = sorted[sorted.size() / 2];
    const double steps = static_cast<double>(options_.steps);
    const double rate = tokens_per_step / step;
    const double flops = flops_per_token(table_, options_.config.data.seq_len);
    const double peak = sum_over_ranks(matrix_peak_);
    double mean_step = 0;
    for (const double seconds : step_seconds_) {
      mean_step += seconds / steps;
    }
    nlohmann::ordered_json parts;
    double busy = 0;
    for (const auto& [part, seconds] : parts_->compute()) {
      parts[part] = seconds / steps * 1e3;
      busy += seconds / steps;
    }
    parts["idle and copies"] = (mean_step - busy) * 1e3;
    nlohmann::ordered_json beside;
    for (const auto& [part, seconds] : parts_->communication()) {
      beside[part] = seconds / steps * 1e3;
    }
    beside["data"] = data_seconds_ / steps * 1e3;
    nlohmann::ordered_json memory;
    for (const MemoryUse& use : memory_) {
      memory[use.category] = use.peak_bytes;
    }
    const auto optimizer = parts_->compute().find("optimizer");
    const double shard = static_cast<double>(table_.parameters()) / comm_.size();
    const double optimizer_rate =
        optimizer == parts_->compute().end() ? 0 : 28 * shard / (optimizer->second / steps) * 1e-9;
    return {{"program", version_text()},
            {"ranks", comm_.size()},
            {"threads", options_.config.device.threads},
            {"tokens_per_s", rate},
            {"step_seconds", step_seconds_},
            {"loss", loss_},
            {"gflops_per_token", flops * 1e-9},
            {"gflops", rate * flops * 1e-9},
            {"matrix_peak_gflops", peak},
            {"share_of_peak", rate * flops * 1e-9 / peak},
            {"peak_resident_bytes", comm_.maximum(peak_resident_)},
            {"parameters", table_.parameters()},
            {"memory", memory},
            {"compute_ms", parts},
            {"beside_compute_ms", beside},
            {"update_gb_per_s", sum_over_ranks(bandwidth_.update)},
            {"read_gb_per_s", sum_over_ranks(bandwidth_.read)},
            {"optimizer_gb_per_s", sum_over_ranks(optimizer_rate)},
            {"micro_batch", micro_batch_},
            {"cores", allowed_cores()}};
  }

  const Options& options_;
  const MpiComm& comm_;
  ModelConfig model_;
  TensorTable table_;
  DType dtype_;
  std::int64_t micro_batch_;
  std::shared_ptr<StepParts> parts_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Collectives> collectives_;
  std::vector<double> step_seconds_;
  double data_seconds_ = 0;
  double loss_ = 0;
  std::vector<MemoryUse> memory_;
  std::int64_t peak_resident_ = 0;
  double matrix_peak_ = 0;
  Bandwidth bandwidth_;
};

}  // namespace
}  // namespace shardgpt::bench

int main(int argc, char** argv) {
  try {
    const shardgpt::bench::Options options = shardgpt::bench::parse(argc, argv);
    const shardgpt::MpiSession session(argc, argv);
    try {
      const auto result = shardgpt::bench::Bench(options, session.world()).run();
      if (session.world().rank() == 0) {
        std::ofstream(options.output) << result.dump(1) << "\n";
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      shardgpt::MpiSession::abort(1);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
