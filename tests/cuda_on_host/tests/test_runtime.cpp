// The host implementation of streams, events and memory: what it takes over of CUDA, and what it finds.
#define BOOST_TEST_MODULE cuda_on_host_runtime
#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <cuda_runtime_api.h>

#include "tests/cuda_on_host/runtime/queue.hpp"
#include "tests/cuda_on_host/runtime/settings.hpp"

using namespace cuda_on_host;
using namespace std::chrono_literals;

namespace {

class StreamUnderTest {
 public:
  StreamUnderTest() {
    BOOST_TEST_REQUIRE(cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking) == cudaSuccess);
  }
  StreamUnderTest(const StreamUnderTest&) = delete;
  StreamUnderTest& operator=(const StreamUnderTest&) = delete;
  ~StreamUnderTest() { cudaStreamDestroy(raw); }
  cudaStream_t raw = nullptr;
};

struct Fixture {
  Fixture() { cudaEventCreateWithFlags(&event, cudaEventDefault); }
  ~Fixture() { cudaEventDestroy(event); }
  StreamUnderTest first;
  StreamUnderTest second;
  cudaEvent_t event = nullptr;
};

template <class T>
class Allocation {
 public:
  explicit Allocation(std::size_t count) { BOOST_TEST_REQUIRE(allocate(count * sizeof(T)) == cudaSuccess); }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation() { cudaFree(data); }
  T* data = nullptr;

 private:
  cudaError_t allocate(std::size_t bytes) {
    void* address = nullptr;
    const cudaError_t code = cudaMalloc(&address, bytes);
    data = static_cast<T*>(address);
    return code;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(runtime, Fixture)

BOOST_AUTO_TEST_CASE(streams_run_beside_each_other_and_each_in_order) {
  std::atomic<int> reached = 0;
  // Each waits for the other: one thread for both would never end.
  enqueue(first.raw, [&] {
    ++reached;
    while (reached < 2) {
      std::this_thread::yield();
    }
  });
  enqueue(second.raw, [&] {
    ++reached;
    while (reached < 2) {
      std::this_thread::yield();
    }
  });
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    enqueue(first.raw, [&order, i] { order.push_back(i); });
  }
  BOOST_TEST(cudaDeviceSynchronize() == cudaSuccess);
  BOOST_TEST(order.size() == 100U);
  BOOST_TEST(std::is_sorted(order.begin(), order.end()));
}

BOOST_AUTO_TEST_CASE(a_wait_refers_to_the_last_record_before_it) {
  std::atomic<bool> release = false;
  std::atomic<int> value = 0;
  enqueue(first.raw, [&] { value = 1; });
  BOOST_TEST(cudaEventRecord(event, first.raw) == cudaSuccess);
  int seen = 0;
  BOOST_TEST(cudaStreamWaitEvent(second.raw, event, 0) == cudaSuccess);
  enqueue(second.raw, [&] { seen = value; });
  // A later record of the same event is no business of that wait.
  enqueue(first.raw, [&] {
    while (!release) {
      std::this_thread::yield();
    }
  });
  BOOST_TEST(cudaEventRecord(event, first.raw) == cudaSuccess);
  BOOST_TEST(cudaStreamSynchronize(second.raw) == cudaSuccess);
  BOOST_TEST(seen == 1);
  BOOST_TEST(cudaEventQuery(event) == cudaErrorNotReady);
  BOOST_TEST(cudaGetLastError() == cudaErrorNotReady);  // as CUDA: it stays behind
  BOOST_TEST(cudaGetLastError() == cudaSuccess);
  release = true;
  BOOST_TEST(cudaEventSynchronize(event) == cudaSuccess);
  BOOST_TEST(cudaEventQuery(event) == cudaSuccess);
}

BOOST_AUTO_TEST_CASE(without_a_record_there_is_nothing_to_wait_for) {
  BOOST_TEST(cudaStreamWaitEvent(second.raw, event, 0) == cudaSuccess);
  BOOST_TEST(cudaStreamSynchronize(second.raw) == cudaSuccess);
  BOOST_TEST(cudaEventQuery(event) == cudaSuccess);
}

BOOST_AUTO_TEST_CASE(an_event_may_go_while_a_stream_waits_for_it) {
  std::atomic<bool> release = false;
  cudaEvent_t passing = nullptr;
  BOOST_TEST(cudaEventCreateWithFlags(&passing, cudaEventDisableTiming) == cudaSuccess);
  enqueue(first.raw, [&] {
    while (!release) {
      std::this_thread::yield();
    }
  });
  BOOST_TEST(cudaEventRecord(passing, first.raw) == cudaSuccess);
  BOOST_TEST(cudaStreamWaitEvent(second.raw, passing, 0) == cudaSuccess);
  BOOST_TEST(cudaEventDestroy(passing) == cudaSuccess);
  release = true;
  BOOST_TEST(cudaStreamSynchronize(second.raw) == cudaSuccess);
}

BOOST_AUTO_TEST_CASE(time_is_taken_where_the_event_takes_it) {
  cudaEvent_t end = nullptr;
  BOOST_TEST(cudaEventCreateWithFlags(&end, cudaEventDefault) == cudaSuccess);
  BOOST_TEST(cudaEventRecord(event, first.raw) == cudaSuccess);
  enqueue(first.raw, [] { std::this_thread::sleep_for(20ms); });
  BOOST_TEST(cudaEventRecord(end, first.raw) == cudaSuccess);
  BOOST_TEST(cudaEventSynchronize(end) == cudaSuccess);
  float milliseconds = 0;
  BOOST_TEST(cudaEventElapsedTime(&milliseconds, event, end) == cudaSuccess);
  BOOST_TEST(milliseconds >= 19.0F);
  cudaEvent_t timeless = nullptr;
  BOOST_TEST(cudaEventCreateWithFlags(&timeless, cudaEventDisableTiming) == cudaSuccess);
  BOOST_TEST(cudaEventRecord(timeless, first.raw) == cudaSuccess);
  BOOST_TEST(cudaEventElapsedTime(&milliseconds, event, timeless) == cudaErrorInvalidResourceHandle);
  cudaEventDestroy(end);
  cudaEventDestroy(timeless);
}

BOOST_AUTO_TEST_CASE(page_locked_memory_is_read_when_the_copy_runs_and_other_memory_at_once) {
  const Allocation<int> device(2);
  void* pinned = nullptr;
  BOOST_TEST(cudaHostAlloc(&pinned, 2 * sizeof(int), cudaHostAllocDefault) == cudaSuccess);
  auto* host = static_cast<int*>(pinned);
  int pageable = 1;
  host[0] = 1;
  std::atomic<bool> release = false;
  enqueue(first.raw, [&] {
    while (!release) {
      std::this_thread::yield();
    }
  });
  BOOST_TEST(cudaMemcpyAsync(device.data, host, sizeof(int), cudaMemcpyHostToDevice, first.raw) ==
             cudaSuccess);
  BOOST_TEST(cudaMemcpyAsync(device.data + 1, &pageable, sizeof(int), cudaMemcpyHostToDevice, first.raw) ==
             cudaSuccess);
  host[0] = 2;
  pageable = 2;
  release = true;
  BOOST_TEST(cudaMemcpyAsync(host, device.data, 2 * sizeof(int), cudaMemcpyDeviceToHost, first.raw) ==
             cudaSuccess);
  BOOST_TEST(cudaStreamSynchronize(first.raw) == cudaSuccess);
  BOOST_TEST(host[0] == 2);
  BOOST_TEST(host[1] == 1);
  BOOST_TEST(cudaFreeHost(pinned) == cudaSuccess);
}

BOOST_AUTO_TEST_CASE(copies_that_would_hold_up_the_host_are_refused) {
  const Allocation<int> device(1);
  int pageable = 0;
  BOOST_TEST(cudaMemcpyAsync(&pageable, device.data, sizeof(int), cudaMemcpyDeviceToHost, first.raw) ==
             cudaErrorInvalidValue);
}

BOOST_AUTO_TEST_CASE(memory_is_checked_by_kind_and_range_and_starts_as_not_a_number) {
  const Allocation<float> small(10);
  const Allocation<float> large(100);
  const auto copy = [&](float* to, const float* from, std::size_t count) {
    return cudaMemcpyAsync(to, from, count * sizeof(float), cudaMemcpyDeviceToDevice, first.raw);
  };
  BOOST_TEST(copy(large.data, small.data, 11) == cudaErrorInvalidValue);
  BOOST_TEST(copy(small.data, large.data, 11) == cudaErrorInvalidValue);
  BOOST_TEST(copy(small.data + 1, large.data + 90, 9) == cudaSuccess);
  BOOST_TEST(copy(small.data + 1, large.data + 91, 9) == cudaSuccess);
  BOOST_TEST(copy(small.data + 1, large.data + 92, 9) == cudaErrorInvalidValue);
  float host = 0;
  BOOST_TEST(copy(small.data, &host, 1) == cudaErrorInvalidValue);
  BOOST_TEST(cudaMemsetAsync(small.data + 9, 0, 5, first.raw) == cudaErrorInvalidValue);
  BOOST_TEST(cudaFree(small.data + 1) == cudaErrorInvalidValue);
  BOOST_TEST(cudaStreamSynchronize(first.raw) == cudaSuccess);
  BOOST_TEST(large.data[50] != large.data[50]);
}

BOOST_AUTO_TEST_CASE(device_memory_is_limited) {
  std::size_t before = 0;
  std::size_t total = 0;
  BOOST_TEST(cudaMemGetInfo(&before, &total) == cudaSuccess);
  BOOST_TEST(total == settings().memory_bytes);
  void* address = nullptr;
  BOOST_TEST(cudaMalloc(&address, before + 1) == cudaErrorMemoryAllocation);
  BOOST_TEST(address == nullptr);
  std::size_t during = 0;
  {
    const Allocation<char> some(5000);
    BOOST_TEST(cudaMemGetInfo(&during, &total) == cudaSuccess);
  }
  BOOST_TEST(before - during == 5000U);
  BOOST_TEST(cudaMemGetInfo(&during, &total) == cudaSuccess);
  BOOST_TEST(before == during);
}

BOOST_AUTO_TEST_CASE(the_default_stream_and_unknown_ones_are_refused) {
  BOOST_TEST(cudaEventRecord(event, nullptr) == cudaErrorInvalidResourceHandle);
  BOOST_CHECK_THROW(enqueue(nullptr, [] {}), std::invalid_argument);
  cudaStream_t gone = nullptr;
  BOOST_TEST(cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking) == cudaSuccess);
  BOOST_TEST(cudaStreamDestroy(gone) == cudaSuccess);
  BOOST_TEST(cudaStreamSynchronize(gone) == cudaErrorInvalidResourceHandle);
  cudaStream_t legacy = nullptr;
  BOOST_TEST(cudaStreamCreateWithFlags(&legacy, cudaStreamDefault) == cudaErrorInvalidValue);
}

BOOST_AUTO_TEST_CASE(devices_are_those_of_the_settings) {
  const Settings saved = settings();
  int count = 0;
  settings().visible = {5, 2};
  BOOST_TEST(cudaGetDeviceCount(&count) == cudaSuccess);
  BOOST_TEST(count == 2);
  cudaDeviceProp five{};
  cudaDeviceProp two{};
  BOOST_TEST(cudaGetDeviceProperties(&five, 0) == cudaSuccess);
  BOOST_TEST(cudaGetDeviceProperties(&two, 1) == cudaSuccess);
  BOOST_TEST(std::memcmp(&five.uuid, &two.uuid, sizeof(five.uuid)) != 0);
  BOOST_TEST(cudaSetDevice(2) == cudaErrorInvalidDevice);
  settings().visible = {};
  BOOST_TEST(cudaGetDeviceCount(&count) == cudaErrorNoDevice);
  settings().driver = false;
  BOOST_TEST(cudaGetDeviceCount(&count) == cudaErrorInsufficientDriver);
  BOOST_TEST(count == 0);
  settings() = saved;
  cudaGetLastError();
}

// Last: a device that has failed stays so for the process.
BOOST_AUTO_TEST_CASE(work_that_throws_fails_the_device_and_nobody_waits_for_ever) {
  std::atomic<bool> release = false;
  enqueue(first.raw, [&] {
    while (!release) {
      std::this_thread::yield();
    }
    throw std::runtime_error("a fault in a kernel");
  });
  BOOST_TEST(cudaEventRecord(event, first.raw) == cudaSuccess);
  BOOST_TEST(cudaStreamWaitEvent(second.raw, event, 0) == cudaSuccess);
  release = true;
  BOOST_TEST(cudaStreamSynchronize(first.raw) == cudaErrorLaunchFailure);
  bool ran = false;
  enqueue(second.raw, [&] { ran = true; });
  BOOST_TEST(cudaStreamSynchronize(second.raw) == cudaErrorLaunchFailure);
  BOOST_TEST(!ran);
  void* address = nullptr;
  BOOST_TEST(cudaMalloc(&address, 8) == cudaErrorLaunchFailure);
  BOOST_TEST(cudaGetLastError() == cudaErrorLaunchFailure);
  BOOST_TEST(cudaGetLastError() == cudaErrorLaunchFailure);
}

BOOST_AUTO_TEST_SUITE_END()
