#define BOOST_TEST_MODULE cuda_device
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "core/bf16.hpp"
#include "core/error.hpp"
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_devices.hpp"
#include "device/cuda/cuda_stream.hpp"
#include "device/host/host_device.hpp"

using namespace shardgpt;

namespace {

struct Fixture {
  std::unique_ptr<Device> device = make_cuda_device(0);
  Stream& compute = device->stream(StreamRole::compute);
  Stream& gather = device->stream(StreamRole::gather);

  template <class T>
  Buffer uploaded(const std::vector<T>& values) {
    Buffer buffer = device->allocate(values.size() * sizeof(T), "test");
    device->upload(buffer.data(), values.data(), values.size() * sizeof(T), compute);
    compute.synchronize();
    return buffer;
  }
  template <class T>
  std::vector<T> downloaded(const void* from, std::size_t count) {
    const Buffer host = device->allocate_host(count * sizeof(T), "test (host)");
    device->download(host.data(), from, count * sizeof(T), compute);
    compute.synchronize();
    return {host.as<T>(), host.as<T>() + count};
  }
};

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(cuda_device, Fixture)

BOOST_AUTO_TEST_CASE(it_says_what_it_is) {
  const CudaDevices found = find_cuda_devices();
  BOOST_TEST_REQUIRE(!found.devices.empty());
  BOOST_TEST(found.reason.empty());
  BOOST_TEST(found.devices[0].uuid.size() == 32U);
  BOOST_TEST(found.devices[0].compute_major >= 8);
  BOOST_TEST((device->kind() == DeviceKind::cuda));
  BOOST_TEST(device->description() == "cuda 0, " + found.devices[0].name);
  BOOST_TEST(free_cuda_memory(0) <= found.devices[0].memory_bytes);
}

BOOST_AUTO_TEST_CASE(memory_starts_as_zero_and_is_booked) {
  const Buffer first = device->allocate(1000, "weights");
  {
    const Buffer second = device->allocate(24, "weights");
    BOOST_TEST(device->allocate(0, "weights").data() == nullptr);
  }
  const std::vector<char> content = downloaded<char>(first.data(), 1000);
  BOOST_TEST((content == std::vector<char>(1000, 0)));
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(first.data()) % 64 == 0U);
  for (const MemoryUse& use : device->memory_use()) {
    if (use.category == "weights") {
      BOOST_TEST(use.bytes == 1000U);
      BOOST_TEST(use.peak_bytes == 1024U);
    }
  }
}

BOOST_AUTO_TEST_CASE(too_much_memory_is_refused_with_category_and_size) {
  const std::size_t bytes = std::size_t{1} << 50U;
  BOOST_CHECK_EXCEPTION((void)device->allocate(bytes, "activations"), Error, [&](const Error& error) {
    const std::string text = error.what();
    return text.find("activations") != std::string::npos &&
           text.find(std::to_string(bytes)) != std::string::npos;
  });
  BOOST_TEST(device->allocate(16, "after").bytes() == 16U);  // the refusal leaves no error behind
}

// Larger than all pieces of the upload ring together, and odd.
BOOST_AUTO_TEST_CASE(an_upload_takes_its_content_before_it_returns) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{70'001}, std::size_t{3'000'001}}) {
    const std::vector<float> values = counting(count);
    std::vector<float> given = values;
    const Buffer buffer = device->allocate(count * sizeof(float), "test");
    device->upload(buffer.data(), given.data(), count * sizeof(float), compute);
    given.assign(count, -1.0F);
    BOOST_TEST((downloaded<float>(buffer.data(), count) == values));
  }
}

BOOST_AUTO_TEST_CASE(copies_and_fills_stay_in_their_range) {
  const std::vector<float> values = counting(64);
  const Buffer from = uploaded(values);
  const Buffer to = uploaded(std::vector<float>(64, 7.0F));
  device->copy(to.as<float>() + 3, from.as<float>() + 5, 10 * sizeof(float), compute);
  device->fill_zero(to.as<float>() + 20, 8, compute);
  std::vector<float> wanted(64, 7.0F);
  std::copy_n(values.begin() + 5, 10, wanted.begin() + 3);
  wanted[20] = wanted[21] = 0;
  BOOST_TEST((downloaded<float>(to.data(), 64) == wanted));
}

// Every alignment of source and target, with counts around the length of a vector.
BOOST_AUTO_TEST_CASE(cast_rounds_as_the_host_does) {
  std::vector<float> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i)) * std::exp2(static_cast<float>(i % 60) - 30);
  }
  values[17] = std::numeric_limits<float>::infinity();
  values[18] = -0.0F;
  values[19] = 1e-42F;  // less than the smallest normal number
  const Buffer from = uploaded(values);
  for (const std::size_t shift : {0U, 1U, 4U}) {
    for (const std::size_t count : {1U, 7U, 8U, 9U, 4096U, 4991U}) {
      const Buffer to = device->allocate((count + 16) * sizeof(bf16), "test");
      device->cast(to.as<bf16>() + shift, DType::bf16, from.as<float>() + shift, count, compute);
      const std::vector<bf16> found = downloaded<bf16>(to.data(), count + 16);
      bool right = true;
      for (std::size_t i = 0; i < found.size(); ++i) {
        const bool inside = i >= shift && i < shift + count;
        right = right && found[i] == (inside ? bf16(values[i]) : bf16());
      }
      BOOST_TEST(right, "shift " << shift << ", count " << count);
    }
  }
  const Buffer to = device->allocate(from.bytes(), "test");
  device->cast(to.data(), DType::f32, from.as<float>(), values.size(), compute);
  BOOST_TEST((downloaded<float>(to.data(), values.size()) == values));
}

BOOST_AUTO_TEST_CASE(a_wait_orders_two_streams) {
  constexpr std::size_t count = 4'000'000;
  const Buffer source = uploaded(std::vector<float>(count, 3.0F));
  const Buffer middle = device->allocate(source.bytes(), "test");
  const Buffer end = device->allocate(source.bytes(), "test");
  const auto written = device->make_event();
  device->copy(middle.data(), source.data(), source.bytes(), compute);
  compute.record(*written);
  gather.wait(*written, "edge");
  device->copy(end.data(), middle.data(), source.bytes(), gather);
  gather.synchronize();
  BOOST_TEST((downloaded<float>(end.data(), count) == std::vector<float>(count, 3.0F)));
}

BOOST_AUTO_TEST_CASE(an_event_never_recorded_holds_up_nobody) {
  const auto event = device->make_event();
  gather.wait(*event, "edge");
  gather.synchronize();
  event->synchronize();
}

BOOST_AUTO_TEST_CASE(events_tell_the_time_between_them) {
  const auto begin = device->make_event();
  const auto end = device->make_event();
  const Buffer buffer = device->allocate(std::size_t{8} << 20U, "test");
  compute.record(*begin);
  for (int i = 0; i < 20; ++i) {
    device->fill_zero(buffer.data(), buffer.bytes(), compute);
  }
  compute.record(*end);
  end->synchronize();
  BOOST_TEST(end->seconds_since(*begin) > 0);
  BOOST_TEST(end->seconds_since(*begin) < 60);
}

BOOST_AUTO_TEST_CASE(a_failure_from_outside_ends_every_wait) {
  failure_of(gather).set(std::make_exception_ptr(Error("a peer is lost")));
  BOOST_CHECK_EXCEPTION(compute.synchronize(), Error,
                        [](const Error& error) { return std::string(error.what()) == "a peer is lost"; });
}

BOOST_AUTO_TEST_CASE(streams_of_another_device_are_refused) {
  const auto host = make_host_device({});
  BOOST_CHECK_THROW((void)raw_stream(host->stream(StreamRole::compute)), std::logic_error);
  const Buffer buffer = device->allocate(16, "test");
  BOOST_CHECK_THROW(device->fill_zero(buffer.data(), 16, host->stream(StreamRole::compute)),
                    std::logic_error);
}

BOOST_AUTO_TEST_SUITE_END()
