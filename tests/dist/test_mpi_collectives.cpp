#include <chrono>
#include <cmath>
#include <vector>

#include "device/host/host_device.hpp"
#include "dist/mpi/mpi_collectives.hpp"
#include "tests/support/mpi_test.hpp"

using namespace shardgpt;
using namespace shardgpt::test;

namespace {

struct Fixture {
  const MpiComm& world = session().world();
  std::unique_ptr<Device> device = make_host_device({});
  std::unique_ptr<Collectives> collectives = make_mpi_collectives(world, std::chrono::seconds(60));
  Stream& gather = device->stream(StreamRole::gather);
  Stream& reduce = device->stream(StreamRole::reduce);
  std::size_t ranks = static_cast<std::size_t>(world.size());
  std::size_t rank = static_cast<std::size_t>(world.rank());

  /// Rank r's contribution to element i: exact in float only when the sum is taken in rank order.
  static float value(std::size_t r, std::size_t i) {
    return std::sin(static_cast<float>(r * 7919 + i)) * std::exp2(static_cast<float>(i % 20));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(mpi_collectives, Fixture)

BOOST_AUTO_TEST_CASE(all_gather_fills_every_piece) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{33}, std::size_t{70'001}}) {
    std::vector<bf16> full(count * ranks);
    for (std::size_t i = 0; i < count; ++i) {
      full[rank * count + i] = bf16(value(rank, i));
    }
    collectives->all_gather_in_place(full.data(), DType::bf16, count, gather);
    gather.synchronize();
    bool right = true;
    for (std::size_t r = 0; r < ranks; ++r) {
      for (std::size_t i = 0; i < count; ++i) {
        right = right && full[r * count + i] == bf16(value(r, i));
      }
    }
    REQUIRE_ON_ALL_RANKS(right);
  }
}

BOOST_AUTO_TEST_CASE(reduce_scatter_sums_in_rank_order_in_fp32) {
  // Above and below the length of one exchange.
  for (const std::size_t count : {std::size_t{1}, std::size_t{4097}, std::size_t{700'001}}) {
    for (const bool accumulate : {false, true}) {
      std::vector<float> full(count * ranks);
      for (std::size_t i = 0; i < full.size(); ++i) {
        full[i] = value(rank, i);
      }
      std::vector<float> shard(count, 0.25F);
      collectives->reduce_scatter(full.data(), shard.data(), count, accumulate, reduce);
      reduce.synchronize();
      bool right = true;
      for (std::size_t i = 0; i < count; ++i) {
        float sum = value(0, rank * count + i);
        for (std::size_t r = 1; r < ranks; ++r) {
          sum += value(r, rank * count + i);
        }
        right = right && shard[i] == (accumulate ? 0.25F + sum : sum);
      }
      REQUIRE_ON_ALL_RANKS(right);
    }
  }
}

// Small parts must survive beside a large one: 256 + 7 * 0.5, and 1 + 64 * 0.004.
BOOST_AUTO_TEST_CASE(small_contributions_are_not_lost) {
  std::vector<float> full(ranks, rank == 0 ? 256.0F : 0.5F);
  std::vector<float> shard(1);
  collectives->reduce_scatter(full.data(), shard.data(), 1, false, reduce);
  reduce.synchronize();
  BOOST_TEST(shard[0] == 256.0F + 0.5F * static_cast<float>(ranks - 1));

  shard[0] = 1.0F;
  std::vector<float> part(ranks, 0.004F / static_cast<float>(ranks));
  for (int micro_batch = 0; micro_batch < 64; ++micro_batch) {
    collectives->reduce_scatter(part.data(), shard.data(), 1, true, reduce);
  }
  reduce.synchronize();
  BOOST_TEST(std::abs(shard[0] - 1.256F) < 1e-5F);
}

BOOST_AUTO_TEST_CASE(all_reduce_gives_the_same_bits_everywhere) {
  std::vector<double> values = {std::sqrt(static_cast<double>(rank + 1)), 1e-17,
                                1e17 * static_cast<double>(rank)};
  double wanted = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    wanted += std::sqrt(static_cast<double>(r + 1));
  }
  collectives->all_reduce_sum(values.data(), values.size(), reduce);
  reduce.synchronize();
  BOOST_TEST(values[0] == wanted);
}

BOOST_AUTO_TEST_CASE(a_peer_that_stays_away_ends_the_wait) {
  if (ranks == 1) {
    return;
  }
  // A session of their own, since it is broken afterwards.
  {
    const auto impatient_device = make_host_device({});
    const auto impatient = make_mpi_collectives(world, std::chrono::seconds(1));
    static std::vector<float> full(ranks);  // MPI may still write to it when the case has ended
    Stream& stream = impatient_device->stream(StreamRole::gather);
    if (rank != 0) {
      impatient->all_gather_in_place(full.data(), DType::f32, 1, stream);
      BOOST_CHECK_EXCEPTION(stream.synchronize(), Error, [](const Error& error) {
        return std::string(error.what()).find("all-gather (operation 1 of this run) for 1 s") !=
               std::string::npos;
      });
    }
    world.barrier();
    if (rank == 0) {  // complete it, so that the communicator can be freed
      impatient->all_gather_in_place(full.data(), DType::f32, 1, stream);
      stream.synchronize();
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
