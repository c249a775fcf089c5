#define BOOST_TEST_MODULE host_device
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/error.hpp"
#include "device/host/host_device.hpp"

using namespace shardgpt;
using namespace std::chrono_literals;

namespace {

struct Fixture {
  std::unique_ptr<Device> device = make_host_device({});
  Stream& compute = device->stream(StreamRole::compute);
  Stream& gather = device->stream(StreamRole::gather);
  Stream& reduce = device->stream(StreamRole::reduce);
};

/// Drops every wait with one name.
struct DropWait final : HostStreamHooks {
  bool keep_wait(StreamRole /*role*/, const char* what) override { return std::string(what) != "edge"; }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(host_device, Fixture)

BOOST_AUTO_TEST_CASE(a_wait_orders_two_streams) {
  const auto event = device->make_event();
  int value = 0;
  int seen = 0;
  submit(compute, [&] {
    std::this_thread::sleep_for(20ms);
    value = 7;
  });
  compute.record(*event);
  gather.wait(*event, "edge");
  submit(gather, [&] { seen = value; });
  gather.synchronize();
  BOOST_TEST(seen == 7);
}

BOOST_AUTO_TEST_CASE(a_wait_on_an_event_never_recorded_does_not_block) {
  const auto event = device->make_event();
  gather.wait(*event, "edge");
  gather.synchronize();
  event->synchronize();
}

BOOST_AUTO_TEST_CASE(events_tell_the_time_between_them) {
  const auto begin = device->make_event();
  const auto end = device->make_event();
  compute.record(*begin);
  submit(compute, [] { std::this_thread::sleep_for(20ms); });
  compute.record(*end);
  end->synchronize();
  BOOST_TEST(end->seconds_since(*begin) >= 0.02);
  BOOST_TEST(end->seconds_since(*end) == 0.0);
}

BOOST_AUTO_TEST_CASE(host_memory_is_counted_like_the_rest) {
  const Buffer buffer = device->allocate_host(4096, "staging");
  BOOST_TEST(buffer.bytes() == 4096U);
  BOOST_TEST(buffer.as<float>()[1023] == 0.0F);
  BOOST_TEST(device->memory_use().back().category == "staging");
}

BOOST_AUTO_TEST_CASE(a_wait_refers_to_the_last_record_before_it) {
  const auto event = device->make_event();
  std::atomic<bool> release = false;
  compute.record(*event);
  gather.wait(*event, "edge");  // the first record, reached at once
  submit(compute, [&] {
    while (!release) {
      std::this_thread::yield();
    }
  });
  compute.record(*event);
  gather.synchronize();  // would hang if the wait meant the second record
  release = true;
  compute.synchronize();
}

BOOST_AUTO_TEST_CASE(gather_and_reduce_run_in_issue_order_on_one_thread) {
  std::vector<int> order;
  std::array<std::thread::id, 2> threads;
  for (int i = 0; i < 50; ++i) {
    submit(i % 2 == 0 ? gather : reduce, [&order, &threads, i] {
      order.push_back(i);
      threads[static_cast<std::size_t>(i % 2)] = std::this_thread::get_id();
    });
  }
  gather.synchronize();
  reduce.synchronize();
  for (int i = 0; i < 50; ++i) {
    BOOST_TEST(order[static_cast<std::size_t>(i)] == i);
  }
  BOOST_TEST((threads[0] == threads[1]));
}

BOOST_AUTO_TEST_CASE(a_failed_task_stops_the_device_and_is_rethrown) {
  const auto never = device->make_event();
  bool ran = false;
  submit(compute, [] { throw Error("planted"); });
  submit(compute, [&] { ran = true; });
  compute.record(*never);
  gather.wait(*never, "edge");  // must not block for ever
  const auto planted = [](const Error& error) { return std::string(error.what()) == "planted"; };
  BOOST_CHECK_EXCEPTION(compute.synchronize(), Error, planted);
  BOOST_CHECK_EXCEPTION(gather.synchronize(), Error, planted);
  BOOST_TEST(!ran);
}

BOOST_AUTO_TEST_CASE(hooks_can_drop_a_wait) {
  const auto dropping = make_host_device({.compute_threads = 1, .hooks = std::make_shared<DropWait>()});
  Stream& first = dropping->stream(StreamRole::compute);
  Stream& second = dropping->stream(StreamRole::gather);
  const auto event = dropping->make_event();
  std::atomic<bool> release = false;
  submit(first, [&] {
    while (!release) {
      std::this_thread::yield();
    }
  });
  first.record(*event);
  second.wait(*event, "edge");
  second.synchronize();
  release = true;
  first.synchronize();
}

BOOST_AUTO_TEST_CASE(memory_is_zero_aligned_and_counted) {
  const Buffer held = device->allocate(1000, "weights");
  {
    const Buffer more = device->allocate(500, "weights");
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(more.data()) % 64 == 0U);
    BOOST_TEST(*more.as<int>() == 0);
  }
  const std::vector<MemoryUse> use = device->memory_use();
  BOOST_TEST_REQUIRE(use.size() == 1U);
  BOOST_TEST(use[0].bytes == 1000U);
  BOOST_TEST(use[0].peak_bytes == 1500U);
  BOOST_CHECK_THROW((void)device->allocate(std::size_t{1} << 60U, "too much"), Error);
}

BOOST_AUTO_TEST_CASE(cast_rounds_and_upload_takes_its_input_at_once) {
  const Buffer wide = device->allocate(4 * sizeof(float), "a");
  const Buffer narrow = device->allocate(4 * sizeof(bf16), "b");
  {
    std::vector<float> host = {1.0F, 1.0F + 0x1p-8F, -2.5F, 1e30F};
    device->upload(wide.data(), host.data(), host.size() * sizeof(float), compute);
    host.assign(4, 0.0F);
  }
  device->cast(narrow.data(), DType::bf16, wide.as<float>(), 4, compute);
  std::array<bf16, 4> result;
  device->download(result.data(), narrow.data(), sizeof(result), compute);
  compute.synchronize();
  BOOST_TEST(float(result[0]) == 1.0F);
  BOOST_TEST(float(result[1]) == 1.0F);
  BOOST_TEST(float(result[2]) == -2.5F);
  BOOST_TEST((result[3] == bf16(1e30F)));
}

BOOST_AUTO_TEST_SUITE_END()
