// A short training run for ThreadSanitizer. With --drop NAME every wait of that name is left out of the
// schedule: the sanitizer must report a race then, and none without.
#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>

#include "device/host/host_device.hpp"
#include "dist/mpi/mpi_collectives.hpp"
#include "train/trainer.hpp"

using namespace shardgpt;

namespace {

/// Leaves waits out, and holds all streams back until everything is issued: the issuing thread must not order
/// two streams by chance, through the locks of their queues.
class DropWaits final : public HostStreamHooks {
 public:
  explicit DropWaits(std::string name) : name_(std::move(name)) {}
  void before_task(StreamRole role) override {
    while (!open_.load(std::memory_order_acquire)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    // A copy that comes late is ordered behind the update that it races with, by the record it waits for:
    // here the updates come late.
    if (role == StreamRole::compute && name_ == "unit staged") {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void open() { open_.store(true, std::memory_order_release); }
  bool keep_wait(StreamRole /*role*/, const char* what) override {
    const bool drop = name_ == what;
    seen_.insert(what);
    dropped_ = dropped_ || drop;
    return !drop;
  }
  [[nodiscard]] bool dropped() const { return dropped_; }
  [[nodiscard]] const std::set<std::string>& seen() const { return seen_; }

 private:
  std::string name_;
  bool dropped_ = false;
  std::set<std::string> seen_;
  std::atomic<bool> open_ = false;
};

Batch random_batch(const ModelConfig& model, std::int64_t rows) {
  Batch batch{rows, model.positions, {}, {}};
  for (std::int64_t i = 0; i < rows * model.positions; ++i) {
    batch.inputs.push_back(static_cast<std::int32_t>((i * 37 + 11) % model.vocab));
    batch.targets.push_back(static_cast<std::int32_t>((i * 53 + 5) % model.vocab));
  }
  return batch;
}

}  // namespace

int main(int argc, char** argv) {
  const std::set<std::string> wanted(
      argv + std::min(argc, argc > 1 && std::string(argv[1]) == "--names" ? 2 : argc), argv + argc);
  const std::string name = argc > 2 && std::string(argv[1]) == "--drop" ? argv[2] : "";
  const MpiSession session(argc, argv);
  ModelConfig model;
  model.layers = 6;
  model.heads = 2;
  model.embd = 16;
  model.vocab = 64;
  model.positions = 8;
  const TensorTable table(model);
  // With two slots a block's gather already stands behind the reduce-scatter that used its reduce slot
  // before; more slots gather further ahead, and only then "reduce slot free" is what keeps compute back.
  bool dropped = false;
  for (const int slots : {2, 5}) {
    const auto hooks = std::make_shared<DropWaits>(name);
    const auto device = make_host_device({.compute_threads = 1, .hooks = hooks});
    const auto ops = make_reference_ops(
        *device, DType::bf16, {.max_rows = 1, .seq_len = 8, .embd = 16, .heads = 2, .padded_vocab = 64});
    const auto collectives = make_mpi_collectives(session.world(), std::chrono::seconds(60));
    Trainer trainer(*device, *ops, *collectives, table,
                    {.seq_len = 8,
                     .global_batch = std::int64_t{2} * session.world().size(),
                     .micro_batch = 1,
                     .unshard_slots = slots,
                     .staging = true});
    trainer.initialize(1);
    for (std::int64_t step = 0; step < 4; ++step) {
      trainer.submit_step(step, random_batch(model, 2), 1e-3, {});
      if (step == 1) {
        trainer.stage_shards();
      }
    }
    trainer.submit_evaluation(random_batch(model, 2), std::int64_t{2} * session.world().size());
    hooks->open();
    (void)trainer.collect_evaluation();
    while (trainer.pending() > 0) {
      (void)trainer.collect();
    }
    trainer.staging().wait();  // at the end: it orders what this thread issues later behind the copy
    float staged = 0;
    for (const ShardPiece& piece : trainer.staging().pieces()) {
      staged += std::accumulate(piece.param.begin(), piece.param.end(), 0.0F);
    }
    std::cout << "staged weights sum up to " << staged << '\n';
    dropped = dropped || hooks->dropped();
    if (!wanted.empty() && hooks->seen() != wanted) {
      std::cerr << "the schedule's waits are not those that are tested:";
      for (const std::string& seen : hooks->seen()) {
        std::cerr << " '" << seen << "'";
      }
      std::cerr << '\n';
      return 2;
    }
  }
  if (!name.empty() && !dropped) {
    std::cerr << "no wait is named '" << name << "'\n";
    return 2;
  }
  return 0;
}
