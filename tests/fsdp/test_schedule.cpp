// The schedule with bodies that check what they are given and hand out known gradients.
#include <chrono>
#include <vector>

#include "device/host/host_device.hpp"
#include "dist/mpi/mpi_collectives.hpp"
#include "fsdp/sharded_units.hpp"
#include "tests/support/mpi_test.hpp"
#include "tests/support/random_delays.hpp"

using namespace shardgpt;
using namespace shardgpt::test;

namespace {

/// Units of unlike sizes whose elements tell unit and update.
class Harness {
 public:
  explicit Harness(std::int64_t blocks, int slots = 2, std::shared_ptr<HostStreamHooks> hooks = nullptr)
      : device_(make_host_device({.compute_threads = 1, .hooks = std::move(hooks)})),
        collectives_(make_mpi_collectives(session().world(), std::chrono::seconds(60))),
        sizes_(sizes(blocks)),
        units_(*device_, *collectives_, sizes_,
               {.compute_type = DType::f32, .unshard_slots = slots, .root_capacity = sizes_[0] + 500}) {
    update_masters(0);
  }
  ~Harness() { device_->stream(StreamRole::compute).synchronize(); }

  ShardedUnits& units() { return units_; }

  /// One step of `micro_batches`; checks every value that is gathered.
  void step(int micro_batches) {
    Stream& compute = device_->stream(StreamRole::compute);
    units_.begin_step();
    {
      const auto root = units_.acquire_root();
      check(0, root.params());
      for (int micro = 0; micro < micro_batches; ++micro) {
        units_.forward([&](std::int64_t block, const void* params) { check(block + 1, params); });
        units_.backward([&](std::int64_t block, const void* params, float* grads) {
          check(block + 1, params);
          const auto count = static_cast<std::size_t>(sizes_[static_cast<std::size_t>(block) + 1]);
          submit(compute, [grads, count, block, rank = units_.rank()] {
            for (std::size_t i = 0; i < count; ++i) {
              grads[i] = gradient(block + 1, i, rank);
            }
          });
        });
        submit(compute, [grads = units_.root_grad(), count = static_cast<std::size_t>(sizes_[0]),
                         rank = units_.rank()] {
          for (std::size_t i = 0; i < count; ++i) {
            grads[i] += gradient(0, i, rank);
          }
        });
      }
    }
    units_.finish_gradients();
    check_gradients(micro_batches);
    update_masters(++update_);
  }

  void evaluate() {
    const auto root = units_.acquire_root();
    check(0, root.params());
    units_.forward([&](std::int64_t block, const void* params) { check(block + 1, params); });
  }

  /// Whether all values seen so far on this rank were right.
  bool right() {
    device_->stream(StreamRole::compute).synchronize();
    return right_;
  }

 private:
  static std::vector<std::int64_t> sizes(std::int64_t blocks) {
    std::vector<std::int64_t> sizes = {777};
    for (std::int64_t block = 0; block < blocks; ++block) {
      sizes.push_back(1000 + block % 3);
    }
    return sizes;
  }
  static float parameter(std::int64_t unit, std::size_t element, std::int64_t update) {
    return static_cast<float>(unit * 100'000 + static_cast<std::int64_t>(element)) +
           static_cast<float>(update) * 0.125F;
  }
  static float gradient(std::int64_t unit, std::size_t element, int rank) {
    return static_cast<float>(unit + 1) + static_cast<float>(element % 13) + static_cast<float>(rank) * 0.5F;
  }

  void update_masters(std::int64_t update) {
    for (std::int64_t unit = 0; unit < units_.units(); ++unit) {
      const UnitPlan& plan = units_.plan()[static_cast<std::size_t>(unit)];
      submit(device_->stream(StreamRole::compute),
             [master = units_.master(unit), count = plan.count(units_.rank()),
              begin = plan.begin(units_.rank()), unit, update] {
               for (std::int64_t i = 0; i < count; ++i) {
                 master[i] = parameter(unit, static_cast<std::size_t>(begin + i), update);
               }
             });
      units_.unit_updated(unit);
    }
    units_.end_update();
  }

  void check(std::int64_t unit, const void* params) {
    submit(device_->stream(StreamRole::compute),
           [this, values = static_cast<const float*>(params), unit, update = update_,
            count = static_cast<std::size_t>(sizes_[static_cast<std::size_t>(unit)])] {
             for (std::size_t i = 0; i < count; ++i) {
               right_ = right_ && values[i] == parameter(unit, i, update);
             }
             for (std::size_t i = count; unit == 0 && i < count + 500; ++i) {
               right_ = right_ && values[i] == 0;  // room behind the root stays zero
             }
           });
  }

  void check_gradients(int micro_batches) {
    for (std::int64_t unit = 0; unit < units_.units(); ++unit) {
      const UnitPlan& plan = units_.plan()[static_cast<std::size_t>(unit)];
      submit(device_->stream(StreamRole::compute), [this, grad = units_.grad(unit), plan, unit, micro_batches,
                                                    rank = units_.rank(), ranks = units_.ranks()] {
        for (std::int64_t i = 0; i < plan.piece; ++i) {
          float wanted = 0;  // padding stays zero
          for (int peer = 0; peer < ranks && i < plan.count(rank); ++peer) {
            wanted += gradient(unit, static_cast<std::size_t>(plan.begin(rank) + i), peer) *
                      static_cast<float>(micro_batches);
          }
          right_ = right_ && grad[i] == wanted;
        }
      });
    }
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Collectives> collectives_;
  std::vector<std::int64_t> sizes_;
  ShardedUnits units_;
  std::int64_t update_ = 0;
  bool right_ = true;  // compute stream only, until synchronized
};

}  // namespace

BOOST_AUTO_TEST_SUITE(schedule)

BOOST_AUTO_TEST_CASE(values_are_right_in_every_shape) {
  for (const std::int64_t blocks : {1, 2, 3, 5}) {
    for (const int slots : {2, 3, 6}) {
      Harness harness(blocks, slots);
      for (const int micro_batches : {1, 3, 2}) {
        harness.step(micro_batches);
        harness.evaluate();
        harness.evaluate();
      }
      BOOST_TEST_CONTEXT(blocks << " blocks, " << slots << " slots") {
        REQUIRE_ON_ALL_RANKS(harness.right());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(random_delays_change_nothing) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const auto delays =
        std::make_shared<RandomDelays>(seed * 31U + static_cast<unsigned>(session().world().rank()));
    Harness harness(5, seed % 2 == 0 ? 2 : 4, delays);
    for (int step = 0; step < 3; ++step) {
      harness.step(2);
      harness.evaluate();
    }
    REQUIRE_ON_ALL_RANKS(harness.right());
  }
}

BOOST_AUTO_TEST_CASE(resident_units_are_not_gathered_again) {
  Harness harness(12);
  const auto gathers_of = [&](int micro_batches) {
    const std::int64_t before = harness.units().counters().block_gathers;
    harness.step(micro_batches);
    return harness.units().counters().block_gathers - before;
  };
  BOOST_TEST(gathers_of(1) == 22);            // 12 forward, 10 backward: the last two are resident
  BOOST_TEST(gathers_of(3) == 22 + 20 + 20);  // from the second micro-batch on the first two are as well
  BOOST_TEST(harness.units().counters().root_gathers == 2);  // once a step
  BOOST_TEST(harness.units().counters().peak_unsharded_blocks == 2);
  harness.evaluate();
  harness.evaluate();
  BOOST_TEST(harness.units().counters().root_gathers == 3);  // both evaluations read the same update
  BOOST_TEST(harness.right());
}

BOOST_AUTO_TEST_SUITE_END()
