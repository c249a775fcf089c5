#include <array>
#include <stdexcept>

#include "device/host/host_device.hpp"
#include "dist/mpi/mpi_collectives.hpp"
#include "fsdp/reduce_slot.hpp"
#include "fsdp/unshard_slot.hpp"
#include "tests/support/mpi_test.hpp"

using namespace shardgpt;
using namespace shardgpt::test;

namespace {

struct Fixture {
  std::unique_ptr<Device> device = make_host_device({});
  std::unique_ptr<Collectives> collectives =
      make_mpi_collectives(session().world(), std::chrono::seconds(60));
  Stream& compute = device->stream(StreamRole::compute);
  Stream& gather = device->stream(StreamRole::gather);
  Stream& reduce = device->stream(StreamRole::reduce);
  std::unique_ptr<Event> ready = device->make_event();
  std::array<float, 4> shard = {1, 2, 3, 4};
  std::size_t capacity = 4 * static_cast<std::size_t>(session().world().size());
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(slots, Fixture)

BOOST_AUTO_TEST_CASE(unshard_slot_refuses_wrong_order) {
  UnshardSlot slot(*device, DType::f32, capacity);
  BOOST_CHECK_THROW((void)slot.acquire({0, 0}, compute), std::logic_error);  // never gathered
  BOOST_TEST(slot.prefetch({0, 0}, *ready, shard.data(), 4, *collectives, gather));
  BOOST_TEST(!slot.prefetch({0, 0}, *ready, shard.data(), 4, *collectives, gather));  // under way
  BOOST_CHECK_THROW(slot.prefetch({1, 0}, *ready, shard.data(), 4, *collectives, gather), std::logic_error);
  BOOST_CHECK_THROW((void)slot.acquire({0, 1}, compute), std::logic_error);  // another update
  {
    const auto lease = slot.acquire({0, 0}, compute);
    BOOST_CHECK_THROW((void)slot.acquire({0, 0}, compute), std::logic_error);
    BOOST_CHECK_THROW(slot.prefetch({1, 0}, *ready, shard.data(), 4, *collectives, gather), std::logic_error);
  }
  BOOST_TEST(slot.holds({0, 0}));  // resident: no gather needed
  BOOST_TEST(!slot.prefetch({0, 0}, *ready, shard.data(), 4, *collectives, gather));
  BOOST_TEST(slot.prefetch({0, 1}, *ready, shard.data(), 4, *collectives, gather));  // out of date
  BOOST_CHECK_THROW(slot.prefetch({0, 2}, *ready, shard.data(), 999, *collectives, gather), std::logic_error);
  gather.synchronize();
}

BOOST_AUTO_TEST_CASE(a_unit_larger_than_its_slot_is_refused) {
  UnshardSlot slot(*device, DType::f32, capacity);
  BOOST_CHECK_THROW(slot.prefetch({0, 0}, *ready, shard.data(), 5, *collectives, gather), std::logic_error);
}

BOOST_AUTO_TEST_CASE(reduce_slot_refuses_wrong_order) {
  ReduceSlot slot(*device, capacity);
  BOOST_CHECK_THROW(slot.reduce(shard.data(), 4, false, *collectives, compute, reduce), std::logic_error);
  (void)slot.begin_write(capacity - 1, capacity, compute);
  BOOST_CHECK_THROW((void)slot.begin_write(capacity - 1, capacity, compute), std::logic_error);
  slot.reduce(shard.data(), 4, false, *collectives, compute, reduce);
  (void)slot.begin_write(capacity - 1, capacity, compute);
  slot.reduce(shard.data(), 4, false, *collectives, compute, reduce);
  reduce.synchronize();
}

BOOST_AUTO_TEST_SUITE_END()
