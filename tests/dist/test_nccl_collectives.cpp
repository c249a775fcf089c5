#include <chrono>
#include <cmath>
#include <vector>

#include "core/bf16.hpp"
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_stream.hpp"
#include "dist/nccl/cuda_choice.hpp"
#include "dist/nccl/nccl_collectives.hpp"
#include "tests/support/mpi_test.hpp"

using namespace shardgpt;
using namespace shardgpt::test;

namespace {

struct Fixture {
  const MpiComm& world = session().world();
  std::unique_ptr<Device> device = make_cuda_device(choose_cuda_device(world).device.index);
  std::unique_ptr<Collectives> collectives = make_nccl_collectives(world, *device, std::chrono::seconds(60));
  Stream& compute = device->stream(StreamRole::compute);
  Stream& gather = device->stream(StreamRole::gather);
  Stream& reduce = device->stream(StreamRole::reduce);
  std::size_t ranks = static_cast<std::size_t>(world.size());
  std::size_t rank = static_cast<std::size_t>(world.rank());

  /// Rank r's contribution to element i; sums of them round.
  static float value(std::size_t r, std::size_t i) {
    return std::sin(static_cast<float>(r * 7919 + i)) * std::exp2(static_cast<float>(i % 20));
  }
  template <class T>
  Buffer uploaded(const std::vector<T>& values) {
    Buffer buffer = device->allocate(values.size() * sizeof(T), "test");
    device->upload(buffer.data(), values.data(), values.size() * sizeof(T), compute);
    compute.synchronize();
    return buffer;
  }
  /// As of now: on a stream that waits for nothing.
  template <class T>
  std::vector<T> downloaded(const Buffer& from, Stream& stream) {
    const Buffer host = device->allocate_host(from.bytes(), "test (host)");
    device->download(host.data(), from.data(), from.bytes(), stream);
    stream.synchronize();
    return {host.as<T>(), host.as<T>() + from.bytes() / sizeof(T)};
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(nccl_collectives, Fixture)

BOOST_AUTO_TEST_CASE(all_gather_fills_every_piece) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{33}, std::size_t{70'001}}) {
    std::vector<bf16> full(count * ranks);
    for (std::size_t i = 0; i < count; ++i) {
      full[rank * count + i] = bf16(value(rank, i));
    }
    const Buffer buffer = uploaded(full);
    collectives->all_gather_in_place(buffer.data(), DType::bf16, count, gather);
    const std::vector<bf16> found = downloaded<bf16>(buffer, gather);
    bool right = true;
    for (std::size_t r = 0; r < ranks; ++r) {
      for (std::size_t i = 0; i < count; ++i) {
        right = right && found[r * count + i] == bf16(value(r, i));
      }
    }
    REQUIRE_ON_ALL_RANKS(right);
  }
}

// In whichever order the sum is taken, it is within rounding of the sum in double.
BOOST_AUTO_TEST_CASE(reduce_scatter_sums_in_fp32) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{4097}, std::size_t{100'001}}) {
    for (const bool accumulate : {false, true}) {
      std::vector<float> full(count * ranks);
      for (std::size_t i = 0; i < full.size(); ++i) {
        full[i] = value(rank, i);
      }
      const Buffer from = uploaded(full);
      const Buffer shard = uploaded(std::vector<float>(count, 0.25F));
      collectives->reduce_scatter(from.as<float>(), shard.as<float>(), count, accumulate, reduce);
      const std::vector<float> found = downloaded<float>(shard, reduce);
      bool right = true;
      for (std::size_t i = 0; i < count; ++i) {
        double sum = accumulate ? 0.25 : 0;
        double magnitude = sum;
        for (std::size_t r = 0; r < ranks; ++r) {
          sum += static_cast<double>(value(r, rank * count + i));
          magnitude += std::abs(static_cast<double>(value(r, rank * count + i)));
        }
        right = right && std::abs(found[i] - sum) <= 1e-6 * magnitude;
      }
      REQUIRE_ON_ALL_RANKS(right);
    }
  }
}

BOOST_AUTO_TEST_CASE(all_reduce_gives_the_same_bits_everywhere) {
  for (int round = 0; round < 20; ++round) {
    const Buffer values = uploaded(std::vector<double>{std::sqrt(static_cast<double>(rank + 1)), 1e-17,
                                                       1e17 * static_cast<double>(rank)});
    std::vector<double> wanted(3);
    for (std::size_t r = 0; r < ranks; ++r) {
      wanted[0] += std::sqrt(static_cast<double>(r + 1));
      wanted[1] += 1e-17;
      wanted[2] += 1e17 * static_cast<double>(r);
    }
    collectives->all_reduce_sum(values.as<double>(), 3, reduce);
    REQUIRE_ON_ALL_RANKS(downloaded<double>(values, reduce) == wanted);
  }
}

// An event that is recorded behind a collective is reached only when its result is there, although the call
// may return before the launch.
BOOST_AUTO_TEST_CASE(an_event_behind_a_collective_means_that_it_is_done) {
  constexpr std::size_t count = 1000;
  const Buffer buffer = device->allocate(count * ranks * sizeof(float), "test");
  const auto written = device->make_event();
  const auto gathered = device->make_event();
  const auto read = device->make_event();
  bool right = true;
  for (int round = 1; round <= 100; ++round) {
    const std::vector<float> own(count, static_cast<float>(round * 10 + world.rank()));
    device->upload(buffer.as<float>() + rank * count, own.data(), count * sizeof(float), compute);
    compute.record(*written);
    gather.wait(*written, "written");
    collectives->all_gather_in_place(buffer.data(), DType::f32, count, gather);
    gather.record(*gathered);
    compute.wait(*gathered, "gathered");
    const std::vector<float> found = downloaded<float>(buffer, compute);
    for (std::size_t i = 0; i < found.size(); ++i) {
      right = right && found[i] == static_cast<float>(static_cast<std::size_t>(round) * 10 + i / count);
    }
  }
  REQUIRE_ON_ALL_RANKS(right);
}

// Two streams, one order: issued the same way on all ranks, they must not wait for each other.
BOOST_AUTO_TEST_CASE(collectives_on_two_streams_keep_their_order) {
  constexpr std::size_t count = 5000;
  const Buffer gathered = device->allocate(count * ranks * sizeof(float), "test");
  const Buffer gradients = uploaded(std::vector<float>(count * ranks, 1.0F));
  const Buffer shard = device->allocate(count * sizeof(float), "test");
  for (int round = 0; round < 50; ++round) {
    collectives->all_gather_in_place(gathered.data(), DType::f32, count, gather);
    collectives->reduce_scatter(gradients.as<float>(), shard.as<float>(), count, false, reduce);
    collectives->all_gather_in_place(gathered.data(), DType::f32, count, gather);
  }
  gather.synchronize();
  REQUIRE_ON_ALL_RANKS(downloaded<float>(shard, reduce) ==
                       std::vector<float>(count, static_cast<float>(ranks)));
}

BOOST_AUTO_TEST_CASE(what_there_is_no_room_for_is_refused) {
  if (ranks > 1) {
    const Buffer values = device->allocate(100 * sizeof(double), "test");
    BOOST_CHECK_THROW(collectives->all_reduce_sum(values.as<double>(), 100, reduce), std::logic_error);
    BOOST_CHECK_THROW(collectives->all_gather_in_place(values.data(), DType::i32, 1, gather),
                      std::logic_error);
  }
}

BOOST_AUTO_TEST_SUITE_END()
