// The CUDA operations against the reference.
#include <boost/test/unit_test.hpp>

#include "compare_ops.hpp"
#include "cuda_implementations.hpp"

namespace shardgpt::test {
namespace {

/// {sequences, T}, C, heads, vocabulary, padded vocabulary, extra columns.
const std::vector<CaseSizes>& all_sizes() {
  static const std::vector<CaseSizes> sizes{
      {{1, 37}, 48, 3, 503, 512, 8},  {{3, 37}, 48, 4, 503, 512, 8},  // heads of 12: the plain path
      {{1, 1}, 48, 1, 503, 512, 8},   {{0, 37}, 48, 3, 503, 512, 8}, {{2, 200}, 64, 1, 61, 64, 8},
      {{1, 70}, 200, 2, 503, 512, 8}, {{2, 64}, 128, 2, 64, 64, 8},  {{1, 130}, 128, 1, 61, 64, 8}};
  return sizes;
}

BOOST_AUTO_TEST_SUITE(cuda_ops)

BOOST_AUTO_TEST_CASE(agrees_with_reference_f32) {
  agree_with_reference(DType::f32, all_sizes());
}
BOOST_AUTO_TEST_CASE(agrees_with_reference_bf16) {
  agree_with_reference(DType::bf16, all_sizes());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace shardgpt::test
