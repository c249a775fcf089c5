// By how much a save beside training lengthens the steps it falls into, against a save that training waits
// for. Usage: mpiexec -n N bench_async_save FOLDER [PRESET [SEQ_LEN [ROUNDS]]]
//
// Each round is a step without a save, steps beside a save until it is durable on all ranks, and a save that
// is waited for; medians over the rounds, so that a disturbance of one moment does not count.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_worker.hpp"
#include "checkpoint/writer.hpp"
#include "device/host/host_device.hpp"
#include "dist/mpi/mpi_collectives.hpp"
#include "model/tensor_table.hpp"
#include "train/checkpoint_options.hpp"
#include "train/devices.hpp"
#include "train/trainer.hpp"

using namespace shardgpt;

namespace {

struct Settings {
  std::filesystem::path folder;
  std::string preset = "gpt2";
  std::int64_t seq_len = 256;
  int rounds = 5;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

template <class Work>
double seconds_of(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<UnitPiece> unit_pieces(std::span<const ShardPiece> shards) {
  std::vector<UnitPiece> pieces;
  for (const ShardPiece& shard : shards) {
    pieces.push_back({shard.unit, shard.begin, shard.param, shard.adam_m, shard.adam_v});
  }
  return pieces;
}

class Bench {
 public:
  Bench(const MpiComm& world, const Settings& settings)
      : world_(world),
        settings_(settings),
        table_(model_preset(settings.preset).value()),
        device_(make_host_device({.compute_threads = choose_threads(world, {}), .hooks = nullptr})),
        ops_(make_ops(*device_, {},
                      {.max_rows = 1,
                       .seq_len = settings.seq_len,
                       .embd = table_.config().embd,
                       .heads = table_.config().heads,
                       .padded_vocab = padded_vocab(table_.config())})),
        collectives_(make_mpi_collectives(world, std::chrono::seconds(600))),
        trainer_(
            *device_, *ops_, *collectives_, table_,
            {.seq_len = settings.seq_len, .global_batch = world.size(), .micro_batch = 1, .staging = true}),
        worker_(world, std::chrono::seconds(600)),
        batch_{1, settings.seq_len, {}, {}} {
    for (std::int64_t i = 0; i < settings.seq_len; ++i) {
      batch_.inputs.push_back(static_cast<std::int32_t>((i * 7919 + world.rank()) % table_.config().vocab));
      batch_.targets.push_back(static_cast<std::int32_t>((i * 104729 + 1) % table_.config().vocab));
    }
    trainer_.initialize(1);
  }

  void run() {
    for (int warm_up = 0; warm_up < 2; ++warm_up) {
      (void)step();
    }
    (void)beside();   // touches the staging memory for the first time
    (void)waiting();  // and the file's blocks
    std::vector<double> quiet;
    std::vector<double> first;
    std::vector<double> all;
    std::vector<double> waited;
    for (int round = 0; round < settings_.rounds; ++round) {
      quiet.push_back(step());
      const std::vector<double> steps = beside();
      const double usual = median(quiet);
      first.push_back(steps.front() - usual);
      double excess = 0;
      for (const double seconds : steps) {
        excess += seconds - usual;
      }
      all.push_back(excess);
      waited.push_back(waiting());
      say("round %d: step %.2f s; beside a save %.2f s, %zu steps until durable; all of them late by %.2f s; "
          "waited for %.2f s\n",
          round, quiet.back(), steps.front(), steps.size(), excess, waited.back());
    }
    say("medians of %d: step %.2f s, save that is waited for %.2f s\n", settings_.rounds, median(quiet),
        median(waited));
    say("  the step behind the border comes later by %.2f s = %.1f %% of that save\n", median(first),
        100 * median(first) / median(waited));
    say("  all steps until it is durable by %.2f s = %.1f %%\n", median(all),
        100 * median(all) / median(waited));
    if (world_.rank() == 0) {
      std::filesystem::remove(file());
    }
  }

 private:
  template <class... Values>
  void say(const char* format, Values... values) const {
    if (world_.rank() == 0) {
      std::printf(format, values...);
      std::fflush(stdout);
    }
  }

  [[nodiscard]] std::filesystem::path file() const { return settings_.folder / "bench_async_save.h5"; }

  double step() {
    return seconds_of([&] {
      trainer_.submit_step(step_++, batch_, 1e-5, {});
      (void)trainer_.collect();
    });
  }

  /// Seconds of the steps from the border until the save is durable on all ranks.
  std::vector<double> beside() {
    trainer_.stage_shards();
    worker_.start([&](const MpiComm& comm) {
      trainer_.staging().wait();
      SaveOptions options = save_options({}, SaveMode::beside_training);
      options.local = [this](const std::function<void()>& work) { worker_.run_behind_compute(work); };
      save_checkpoint(comm, file(), table_, {}, unit_pieces(trainer_.staging().pieces()), options);
    });
    std::vector<double> steps;
    do {
      steps.push_back(step());
    } while (!world_.all(worker_.ended()));
    worker_.finish();
    return steps;
  }

  double waiting() {
    const std::vector<ShardPiece> shards = trainer_.shards();
    return seconds_of([&] {
      worker_.run(
          [&](const MpiComm& comm) { save_checkpoint(comm, file(), table_, {}, unit_pieces(shards)); });
    });
  }

  const MpiComm& world_;
  Settings settings_;
  TensorTable table_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Collectives> collectives_;
  Trainer trainer_;
  CheckpointWorker worker_;
  Batch batch_;
  std::int64_t step_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: bench_async_save FOLDER [PRESET [SEQ_LEN [ROUNDS]]]\n", stderr);
    return exit_bad_input;
  }
  Settings settings;
  settings.folder = argv[1];
  settings.preset = argc > 2 ? argv[2] : settings.preset;
  settings.seq_len = argc > 3 ? std::atoi(argv[3]) : settings.seq_len;
  settings.rounds = argc > 4 ? std::atoi(argv[4]) : settings.rounds;
  try {
    const MpiSession session(argc, argv);
    Bench(session.world(), settings).run();
    return exit_done;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_async_save: %s\n", error.what());
    MpiSession::abort(exit_error);
  }
}
