#define BOOST_TEST_MODULE cuda_on_host_engine
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "device/cuda/launch.cuh"
#include "device/cuda/warp_mma.cuh"
#include "tests/cuda_on_host/exec/fault.hpp"
#include "tests/cuda_on_host/exec/global_memory.hpp"
#include "tests/cuda_on_host/exec/options.hpp"

namespace {

namespace cuda = shardgpt::cuda;
using cuda::launch;
using cuda_on_host::FaultKind;
using cuda_on_host::KernelFault;

constexpr unsigned whole_warp = 0xffffffffU;

/// Device memory of one test.
template <class T>
class Array {
 public:
  explicit Array(std::size_t count)
      : count_(count), data_(static_cast<T*>(cuda_on_host::allocate_global(count * sizeof(T)))) {}
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cuda_on_host::free_global(data_); }
  [[nodiscard]] T* data() const { return data_; }
  T& operator[](std::size_t i) const { return data_[i]; }
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  std::size_t count_;
  T* data_;
};

bool is_unwritten(const Array<int>& array, std::size_t i) {
  return array[i] == -1;
}

FaultKind kind_of_fault(const std::function<void()>& work) {
  try {
    work();
  } catch (const KernelFault& fault) {
    BOOST_TEST_MESSAGE(fault.what());
    return fault.kind();
  }
  BOOST_FAIL("no fault");
  return FaultKind::race;
}

__global__ void write_places(int* out, int step) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned place = block * blockDim.x * blockDim.y * blockDim.z + thread;
  out[place] = static_cast<int>(place) * step;
}

BOOST_AUTO_TEST_CASE(every_thread_of_every_block_runs_once) {
  const Array<int> out(2 * 3 * 4 * 5 * 3 * 7);
  launch(write_places, dim3(2, 3, 4), dim3(5, 3, 7), 0, nullptr, out.data(), std::size_t{3});
  for (std::size_t i = 0; i < out.size(); ++i) {
    BOOST_REQUIRE_EQUAL(out[i], static_cast<int>(i) * 3);
  }
}

__global__ void exchange(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  const int value = lane * 10;
  out[lane] = __shfl_sync(whole_warp, value, 35);
  out[32 + lane] = __shfl_sync(whole_warp, value, 3, 8);
  out[64 + lane] = __shfl_xor_sync(whole_warp, value, 5);
  out[96 + lane] = __shfl_up_sync(whole_warp, value, 3U, 16);
  out[128 + lane] = __shfl_down_sync(whole_warp, value, 3U, 16);
  out[160 + lane] = static_cast<int>(__shfl_xor_sync(whole_warp, static_cast<double>(value), 1));
  out[192 + lane] = static_cast<int>(__ballot_sync(whole_warp, lane < 3 ? 1 : 0));
  out[224 + lane] = __any_sync(whole_warp, lane == 7 ? 1 : 0) +
                    2 * __all_sync(whole_warp, lane >= 0 ? 1 : 0) + 4 * __all_sync(whole_warp, lane);
}

BOOST_AUTO_TEST_CASE(warp_functions_follow_the_programming_guide) {
  const Array<int> out(256);
  launch(exchange, dim3(1), dim3(32), 0, nullptr, out.data());
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const auto value = [](std::size_t of) { return static_cast<int>(of) * 10; };
    BOOST_TEST(out[lane] == value(3));
    BOOST_TEST(out[32 + lane] == value(lane / 8 * 8 + 3));
    BOOST_TEST(out[64 + lane] == value(lane ^ 5U));
    BOOST_TEST(out[96 + lane] == value(lane % 16 < 3 ? lane : lane - 3));
    BOOST_TEST(out[128 + lane] == value(lane % 16 > 12 ? lane : lane + 3));
    BOOST_TEST(out[160 + lane] == value(lane ^ 1U));
    BOOST_TEST(out[192 + lane] == 7);
    BOOST_TEST(out[224 + lane] == 3);
  }
}

__global__ void exchange_in_halves(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  const unsigned half = lane < 16 ? 0x0000ffffU : 0xffff0000U;
  int sum = lane;
  for (int offset = 8; offset != 0; offset /= 2) {
    sum += __shfl_xor_sync(half, sum, offset);
  }
  if (lane < 16) {
    out[lane] = sum;
  } else {
    __syncwarp(half);
    out[lane] = -sum;
  }
}

BOOST_AUTO_TEST_CASE(parts_of_a_warp_work_apart) {
  const Array<int> out(32);
  launch(exchange_in_halves, dim3(1), dim3(32), 0, nullptr, out.data());
  for (std::size_t lane = 0; lane < 32; ++lane) {
    BOOST_TEST(out[lane] == (lane < 16 ? 120 : -(120 + 256)));
  }
}

__global__ void load_fragments(const std::uint16_t* matrices, std::uint32_t* out) {
  SHARDGPT_SHARED_ARRAY(std::uint16_t, rows, [32][8]);
  const unsigned lane = threadIdx.x;
  for (unsigned i = 0; i < 8; ++i) {
    rows[lane][i] = matrices[lane * 8 + i];
  }
  __syncthreads();
  std::uint32_t plain[4];
  std::uint32_t transposed[4];
  cuda::ldmatrix_x4(plain, rows[lane]);
  cuda::ldmatrix_x4_trans(transposed, rows[lane]);
  for (unsigned i = 0; i < 4; ++i) {
    out[lane * 8 + i] = plain[i];
    out[lane * 8 + 4 + i] = transposed[i];
  }
}

BOOST_AUTO_TEST_CASE(matrices_are_loaded_in_the_documented_layout) {
  const Array<std::uint16_t> matrices(256);
  const Array<std::uint32_t> out(256);
  for (std::size_t i = 0; i < 256; ++i) {
    matrices[i] = static_cast<std::uint16_t>(i);
  }
  launch(load_fragments, dim3(1), dim3(32), 0, nullptr, matrices.data(), out.data());
  const auto element = [](std::size_t matrix, std::size_t row, std::size_t column) {
    return static_cast<std::uint32_t>(matrix * 64 + row * 8 + column);
  };
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const std::size_t group = lane / 4;
    const std::size_t pair = lane % 4 * 2;
    for (std::size_t i = 0; i < 4; ++i) {
      BOOST_TEST(out[lane * 8 + i] == (element(i, group, pair) | element(i, group, pair + 1) << 16));
      BOOST_TEST(out[lane * 8 + 4 + i] == (element(i, pair, group) | element(i, pair + 1, group) << 16));
    }
  }
}

__global__ void copy_or_zero(const float* in, float* out, int valid_pieces) {
  SHARDGPT_DYNAMIC_SHARED(float, piece);
  const int thread = static_cast<int>(threadIdx.x);
  cuda::cp_async16_zero_fill(piece + thread * 4, in + thread * 4, thread < valid_pieces);
  cuda::cp_async_commit();
  const bool unwritten = std::isnan(piece[thread * 4]);
  cuda::cp_async_wait<0>();
  for (int i = 0; i < 4; ++i) {
    out[thread * 4 + i] = unwritten ? piece[thread * 4 + i] : -1.0F;
  }
}

BOOST_AUTO_TEST_CASE(asynchronous_copies_arrive_at_the_wait) {
  const Array<float> in(128);
  const Array<float> out(128);
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<float>(i);
  }
  launch(copy_or_zero, dim3(1), dim3(32), 512, nullptr, in.data(), out.data(), 20);
  for (std::size_t i = 0; i < out.size(); ++i) {
    BOOST_TEST(out[i] == (i < 80 ? static_cast<float>(i) : 0.0F));
  }
}

__global__ void look_at_shared(int* fresh, int* where) {
  SHARDGPT_SHARED_ARRAY(float, small, [2][3]);
  SHARDGPT_SHARED_ARRAY(double, large, [512]);
  SHARDGPT_DYNAMIC_SHARED(float, dynamic);
  fresh[blockIdx.x] = std::isnan(small[1][2]) && std::isnan(large[511]) && std::isnan(dynamic[30719]) ? 1 : 0;
  where[blockIdx.x] = reinterpret_cast<std::uintptr_t>(dynamic) % 128 == 0 ? 1 : 0;
  small[1][2] = 1.0F;
  large[511] = 1.0;
  dynamic[30719] = 1.0F;
}

BOOST_AUTO_TEST_CASE(shared_memory_is_unwritten_in_each_block) {
  const Array<int> fresh(3);
  const Array<int> where(3);
  launch(look_at_shared, dim3(3), dim3(1), 120 * 1024, nullptr, fresh.data(), where.data());
  for (std::size_t i = 0; i < 3; ++i) {
    BOOST_TEST(fresh[i] == 1);
    BOOST_TEST(where[i] == 1);
  }
}

__global__ void wait_at_barrier(int* out) {
  if (threadIdx.x != 5) {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}

__global__ void wait_for_wrong_lanes() {
  __shfl_sync(threadIdx.x == 0 ? whole_warp : 0xfffffffeU, 1, 0);
}

__global__ void call_without_own_lane() {
  __syncwarp(2U);
}

__global__ void load_from_global(const std::uint16_t* rows) {
  std::uint32_t fragments[4];
  cuda::ldmatrix_x4(fragments, rows);
}

__global__ void load_misaligned() {
  SHARDGPT_SHARED_ARRAY(std::uint16_t, rows, [264]);
  std::uint32_t fragments[4];
  cuda::ldmatrix_x4(fragments, rows + 4);
}

__global__ void use_dynamic_shared() {
  SHARDGPT_DYNAMIC_SHARED(int, values);
  values[0] = 1;
}

BOOST_AUTO_TEST_CASE(faults_are_reported_and_the_next_launch_works) {
  const Array<int> out(64);
  const auto run = [](auto kernel, auto... arguments) {
    return kind_of_fault([&] { launch(kernel, dim3(2), dim3(32), 0, nullptr, arguments...); });
  };
  BOOST_CHECK(run(wait_at_barrier, out.data()) == FaultKind::barrier);
  BOOST_TEST(out[5] == 1);
  BOOST_TEST(is_unwritten(out, 6));
  BOOST_CHECK(run(wait_for_wrong_lanes) == FaultKind::warp);
  BOOST_CHECK(run(call_without_own_lane) == FaultKind::warp);
  BOOST_CHECK(run(load_from_global, reinterpret_cast<const std::uint16_t*>(out.data())) == FaultKind::bounds);
  BOOST_CHECK(run(load_misaligned) == FaultKind::bounds);
  BOOST_CHECK(run(use_dynamic_shared) == FaultKind::bounds);
  launch(write_places, dim3(2), dim3(32), 0, nullptr, out.data(), 1);
  BOOST_TEST(out[63] == 63);
}

BOOST_AUTO_TEST_CASE(launches_that_no_gpu_takes_are_refused) {
  const Array<int> out(1);
  const auto refused = [&](dim3 grid, dim3 block, std::size_t shared_bytes) {
    BOOST_CHECK_THROW(launch(write_places, grid, block, shared_bytes, nullptr, out.data(), 1),
                      cuda::CudaError);
  };
  refused(dim3(0), dim3(1), 0);
  refused(dim3(1, 65536), dim3(1), 0);
  refused(dim3(1), dim3(1025), 0);
  refused(dim3(1), dim3(1, 1, 65), 0);
  refused(dim3(1), dim3(1), 164 * 1024);
}

__global__ void sum_with_barriers(const int* values, int* out, int count) {
  SHARDGPT_SHARED_ARRAY(int, sums, [64]);
  const int thread = static_cast<int>(threadIdx.x);
  int sum = 0;
  for (int i = thread; i < count; i += 64) {
    sum += values[i];
  }
  sums[thread] = sum;
  for (int half = 32; half != 0; half /= 2) {
    __syncthreads();
    if (thread < half) {
      sums[thread] += sums[thread + half];
    }
  }
  if (thread == 0) {
    out[blockIdx.x] = sums[0];
  }
}

BOOST_AUTO_TEST_CASE(several_streams_run_at_once) {
  constexpr std::size_t count = 1000;
  const Array<int> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<int>(i);
  }
  const Array<int> first(300);
  const Array<int> second(300);
  const auto work = [&](const Array<int>& out) {
    launch(sum_with_barriers, dim3(300), dim3(64), 0, nullptr, values.data(), out.data(),
           static_cast<int>(count));
  };
  std::thread other([&] { work(second); });
  work(first);
  other.join();
  for (std::size_t i = 0; i < 300; ++i) {
    BOOST_REQUIRE_EQUAL(first[i], 499500);
    BOOST_REQUIRE_EQUAL(second[i], 499500);
  }
}

/// The number of each thread and block in the order that they come.
__global__ void note_order(int* count, int* order) {
  order[atomicAdd(count, 1)] = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

std::vector<int> order_of(const std::string& options) {
  const cuda_on_host::Options before = cuda_on_host::current_options();
  cuda_on_host::set_options(cuda_on_host::parse_options(options));
  const Array<int> count(1);
  const Array<int> order(256);
  count[0] = 0;
  launch(note_order, dim3(4), dim3(64), 0, nullptr, count.data(), order.data());
  cuda_on_host::set_options(before);
  return {order.data(), order.data() + order.size()};
}

BOOST_AUTO_TEST_CASE(threads_run_in_the_chosen_order) {
  const std::vector<int> ascending = order_of("ascending");
  const std::vector<int> newest_first = order_of("newest_first");
  const std::vector<int> random = order_of("random:5");
  std::vector<int> sorted = random;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < 256; ++i) {
    const auto place = static_cast<std::size_t>(i);
    BOOST_REQUIRE_EQUAL(ascending[place], i);
    BOOST_REQUIRE_EQUAL(newest_first[place], 255 - i);
    BOOST_REQUIRE_EQUAL(sorted[place], i);
  }
  BOOST_CHECK(random != ascending);
  BOOST_CHECK(random == order_of("random:5"));
  BOOST_CHECK(random != order_of("random:6"));
}

BOOST_AUTO_TEST_CASE(orders_that_do_not_exist_are_refused) {
  for (const char* const text : {"", "descending", "random:", "random:x", "random7", "random:7x"}) {
    BOOST_CHECK_THROW(cuda_on_host::parse_options(text), std::invalid_argument);
  }
}

}  // namespace
