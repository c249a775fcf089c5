// The CUDA operations against the reference at sizes of GPT-2, each large in one way.
#include <boost/test/unit_test.hpp>

#include "compare_ops.hpp"

namespace shardgpt::test {
namespace {

/// {sequences, T}, C, heads, vocabulary, padded vocabulary, extra columns.
const std::vector<CaseSizes>& large_sizes() {
  static const std::vector<CaseSizes> sizes{
      {{1, 1024}, 64, 1, 64, 64, 8}, {{1, 5}, 1600, 25, 64, 64, 8}, {{1, 3}, 48, 1, 50257, 50304, 8}};
  return sizes;
}

BOOST_AUTO_TEST_SUITE(cuda_sizes)

BOOST_AUTO_TEST_CASE(large_sizes_agree_with_reference_f32) {
  agree_with_reference(DType::f32, large_sizes());
}
BOOST_AUTO_TEST_CASE(large_sizes_agree_with_reference_bf16) {
  agree_with_reference(DType::bf16, large_sizes());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace shardgpt::test
