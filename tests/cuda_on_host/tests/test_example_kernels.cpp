#define BOOST_TEST_MODULE cuda_example_kernels
#include <cstdlib>

#include <boost/test/unit_test.hpp>

#include "device/cuda/cuda_check.hpp"
#include "tests/cuda_on_host/tests/example_cases.hpp"
#include "tests/cuda_on_host/tests/example_kernels.hpp"

namespace {

namespace cuda = shardgpt::cuda;
namespace examples = shardgpt::cuda::examples;

/// The same program runs on a GPU (label gpu), where there is one.
struct NeedsDevice {
  NeedsDevice() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      std::_Exit(77);
    }
  }
};

BOOST_TEST_GLOBAL_CONFIGURATION(NeedsDevice);

BOOST_AUTO_TEST_CASE(layer_norm_equals_plain_loops) {
  for (const int columns : {1, 37, 48, 128, 1600}) {
    BOOST_TEST_CONTEXT("columns " << columns) {
      BOOST_TEST(examples::layer_norm_error(examples::layer_norm, 5, columns) < (columns == 1 ? 1e-3 : 1e-5));
    }
  }
}

BOOST_AUTO_TEST_CASE(products_equal_plain_loops_exactly) {
  BOOST_TEST(examples::product_error(examples::product, 128, 64, 96) == 0.0);
  BOOST_TEST(examples::product_error(examples::product_async, 128, 64, 96) == 0.0);
  BOOST_TEST(examples::product_error(examples::product_async, 64, 192, 32) == 0.0);
}

BOOST_AUTO_TEST_CASE(attention_equals_plain_loops) {
  for (const int tokens : {1, 37, 64, 130}) {
    BOOST_TEST_CONTEXT("tokens " << tokens) {
      BOOST_TEST(examples::attention_error(examples::causal_attention, 2, tokens) < 8e-3);
    }
  }
}

BOOST_AUTO_TEST_CASE(warp_functions_and_atomics_count_everything) {
  for (const int count : {1, 64, 200}) {
    BOOST_TEST(examples::exchange_error(examples::warp_exchange, count) == 0.0);
  }
}

BOOST_AUTO_TEST_CASE(launches_that_no_gpu_takes_are_refused) {
  BOOST_CHECK_THROW(examples::layer_norm(nullptr, nullptr, nullptr, nullptr, nullptr, 0, 8), cuda::CudaError);
}

}  // namespace
