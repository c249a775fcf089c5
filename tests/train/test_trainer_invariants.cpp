// What must hold on any number of ranks, whatever the timing.
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/random_delays.hpp"
#include "tests/train/trainer_fixture.hpp"

using namespace shardgpt;
using namespace shardgpt::test;

namespace {

const ReferenceCase& tiny_a() {
  static const ReferenceCase instance("tiny-a");
  return instance;
}

/// All master weights and moments of this rank, as bits.
std::vector<std::uint32_t> state_bits(CaseTrainer& trainer) {
  std::vector<std::uint32_t> bits;
  for (const ShardPiece& piece : trainer.trainer().shards()) {
    for (const std::span<float> values : {piece.param, piece.adam_m, piece.adam_v}) {
      for (const float value : values) {
        bits.push_back(std::bit_cast<std::uint32_t>(value));
      }
    }
  }
  return bits;
}

std::uint64_t hash_bytes(const void* data, std::size_t bytes) {
  std::uint64_t hash = 1469598103934665603U;  // FNV-1a
  for (std::size_t i = 0; i < bytes; ++i) {
    hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211U;
  }
  return hash;
}

/// One hash over everything that is gathered, root and blocks, in the type that compute reads.
std::uint64_t gathered_hash(CaseTrainer& trainer, DType dtype) {
  std::vector<std::uint64_t> hashes(trainer.table().units().size());
  ShardedUnits& units = trainer.trainer().units();
  const auto hash_unit = [&](std::int64_t unit, const void* params) {
    const auto& spec = trainer.table().units()[static_cast<std::size_t>(unit)];
    submit(trainer.compute(),
           [&hashes, unit, params, bytes = static_cast<std::size_t>(spec.elements) * dtype_bytes(dtype)] {
             hashes[static_cast<std::size_t>(unit)] = hash_bytes(params, bytes);
           });
  };
  {
    const auto root = units.acquire_root();
    hash_unit(0, root.params());
    units.forward([&](std::int64_t block, const void* params) { hash_unit(block + 1, params); });
  }
  trainer.compute().synchronize();
  return hash_bytes(hashes.data(), hashes.size() * sizeof(hashes[0]));
}

/// Plants a NaN into this rank's gradient shard behind one reduce-scatter of one step.
class NanPlanter final : public Collectives {
 public:
  NanPlanter(std::unique_ptr<Collectives> inner, int planting_rank)
      : inner_(std::move(inner)), rank_(planting_rank) {}
  void arm() { armed_ = true; }

  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int size() const override { return inner_->size(); }
  void all_gather_in_place(void* full, DType type, std::size_t count, Stream& stream) override {
    inner_->all_gather_in_place(full, type, count, stream);
  }
  void reduce_scatter(float* full, float* shard, std::size_t count, bool accumulate,
                      Stream& stream) override {
    inner_->reduce_scatter(full, shard, count, accumulate, stream);
    if (std::exchange(armed_, false) && rank() == rank_) {
      submit(stream, [shard] { shard[0] = std::numeric_limits<float>::quiet_NaN(); });
    }
  }
  void all_reduce_sum(double* values, std::size_t count, Stream& stream) override {
    inner_->all_reduce_sum(values, count, stream);
  }

 private:
  std::unique_ptr<Collectives> inner_;
  int rank_;
  bool armed_ = false;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(trainer_invariants)

BOOST_AUTO_TEST_CASE(gathered_parameters_are_the_same_bits_on_all_ranks) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    CaseTrainer trainer(tiny_a(), &make_reference_ops, dtype, 2);
    std::uint64_t last = 0;
    for (std::int64_t step = 0; step < 4; ++step) {
      (void)trainer.step(step);
      const std::uint64_t mine = gathered_hash(trainer, dtype);
      const std::vector<std::uint64_t> all = session().world().all_gather(mine);
      BOOST_TEST(std::ranges::all_of(all, [&](std::uint64_t hash) { return hash == all[0]; }));
      BOOST_TEST(mine != last);  // the update is seen
      last = mine;
    }
  }
}

BOOST_AUTO_TEST_CASE(random_delays_change_no_bit) {
  const auto run = [](const std::shared_ptr<HostStreamHooks>& hooks, int slots) {
    CaseTrainer trainer(tiny_a(), &make_reference_ops, DType::bf16, 1, hooks, slots);
    for (std::int64_t step = 0; step < 4; ++step) {
      trainer.trainer().submit_step(step, trainer.batch(step), trainer.lr(step), {});
    }
    while (trainer.trainer().pending() > 0) {
      (void)trainer.trainer().collect();
    }
    return state_bits(trainer);
  };
  const std::vector<std::uint32_t> wanted = run(nullptr, 2);
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const unsigned mine = seed * 101U + static_cast<unsigned>(session().world().rank());
    REQUIRE_ON_ALL_RANKS(run(std::make_shared<RandomDelays>(mine), seed == 2 ? 4 : 2) == wanted);
  }
}

BOOST_AUTO_TEST_CASE(a_nan_on_one_rank_skips_the_step_on_all) {
  const int ranks = session().world().size();
  for (const int planting_rank : {0, ranks - 1}) {
    NanPlanter* planter = nullptr;
    const auto wrap = [&](std::unique_ptr<Collectives> inner) {
      auto wrapped = std::make_unique<NanPlanter>(std::move(inner), planting_rank);
      planter = wrapped.get();
      return wrapped;
    };
    CaseTrainer trainer(tiny_a(), &make_reference_ops, DType::f32, 4, nullptr, 2, wrap);
    (void)trainer.step(0);
    const std::vector<std::uint32_t> before = state_bits(trainer);
    planter->arm();
    const StepReport skipped = trainer.step(1);
    BOOST_TEST(skipped.scalars.applied == 0);
    BOOST_TEST(skipped.scalars.skipped_total == 1);
    BOOST_TEST(skipped.scalars.adam_step == 1);
    BOOST_TEST(!std::isfinite(skipped.scalars.grad_norm));
    REQUIRE_ON_ALL_RANKS(state_bits(trainer) == before);
    const StepReport next = trainer.step(2);
    BOOST_TEST(next.scalars.applied == 1);
    BOOST_TEST(next.scalars.adam_step == 2);
    REQUIRE_ON_ALL_RANKS(state_bits(trainer) != before);
  }
}

BOOST_AUTO_TEST_CASE(a_step_without_targets_is_skipped) {
  CaseTrainer trainer(tiny_a(), &make_reference_ops, DType::f32, 4);
  const std::vector<std::uint32_t> before = state_bits(trainer);
  Batch batch = trainer.batch(0);
  std::ranges::fill(batch.targets, no_target);
  trainer.trainer().submit_step(0, batch, 1e-3, {});
  const StepReport report = trainer.trainer().collect();
  BOOST_TEST(report.scalars.applied == 0);
  BOOST_TEST(report.scalars.targets == 0);
  REQUIRE_ON_ALL_RANKS(state_bits(trainer) == before);
}

BOOST_AUTO_TEST_CASE(a_stop_request_of_one_rank_reaches_all) {
  CaseTrainer trainer(tiny_a(), &make_reference_ops, DType::f32, 4);
  const int last = session().world().size() - 1;
  trainer.trainer().submit_step(0, trainer.batch(0), 1e-3, {});
  trainer.trainer().submit_step(1, trainer.batch(1), 1e-3,
                                {.stop = session().world().rank() == last ? 1.0 : 0.0});
  BOOST_TEST(trainer.trainer().collect().scalars.signals.stop == 0);
  BOOST_TEST(trainer.trainer().collect().scalars.signals.stop == 1);
}

BOOST_AUTO_TEST_CASE(the_device_holds_what_was_planned_and_two_blocks_at_most) {
  CaseTrainer trainer(tiny_a(), &make_reference_ops, DType::bf16, 2);
  for (std::int64_t step = 0; step < 3; ++step) {
    (void)trainer.step(step);
  }
  BOOST_TEST(trainer.trainer().units().counters().peak_unsharded_blocks == 2);
  std::size_t block = 0;
  std::size_t root = 0;
  for (const UnitPlan& unit : trainer.trainer().units().plan()) {
    (&unit == trainer.trainer().units().plan().data() ? root : block) =
        static_cast<std::size_t>(unit.padded(session().world().size()));
  }
  root = std::max(root, static_cast<std::size_t>(Gpt2::root_capacity(trainer.table())));
  for (const MemoryUse& use : trainer.device().memory_use()) {
    if (use.category == "unshard slots") {
      BOOST_TEST(use.peak_bytes == (root + 2 * block) * sizeof(bf16));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
