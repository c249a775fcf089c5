// The CPU operations against the reference, on every instruction set of this machine.
#include <boost/test/unit_test.hpp>

#include "compare_ops.hpp"
#include "cpu_implementations.hpp"

namespace shardgpt::test {
namespace {

const std::vector<CaseSizes>& all_sizes() {
  static const std::vector<CaseSizes> sizes{{{1, 37}, 48, 3, 503, 512}, {{3, 37}, 48, 4, 503, 512},
                                            {{1, 1}, 48, 4, 503, 512},  {{0, 37}, 48, 3, 503, 512},
                                            {{2, 200}, 40, 2, 61, 64},  {{1, 70}, 200, 2, 503, 512},
                                            {{1, 64}, 64, 1, 64, 64},   {{9, 128}, 16, 2, 61, 64}};
  return sizes;
}

void repeat_bit_for_bit(DType dtype) {
  const Implementation reference = make_reference(dtype);
  const CaseSizes sizes{{3, 37}, 48, 4, 503, 512};
  for (const NamedCase& op : op_cases()) {
    const auto expected = op.run(reference, sizes);
    for (const int threads : {1, 2, 3}) {
      const auto first = op.run(make_cpu(dtype, sizes.limits(), threads), sizes);
      const auto second = op.run(make_cpu(dtype, sizes.limits(), threads), sizes);
      check_close(first, expected, dtype, std::string(op.name) + " on threads: " + std::to_string(threads));
      for (std::size_t i = 0; i < first.size(); ++i) {
        BOOST_TEST((first[i].values == second[i].values), op.name << ' ' << first[i].name);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE(cpu_ops)

BOOST_AUTO_TEST_CASE(agrees_with_reference_f32) {
  agree_with_reference(DType::f32, all_sizes());
}
BOOST_AUTO_TEST_CASE(agrees_with_reference_bf16) {
  agree_with_reference(DType::bf16, all_sizes());
}
BOOST_AUTO_TEST_CASE(repeats_bit_for_bit_f32) {
  repeat_bit_for_bit(DType::f32);
}
BOOST_AUTO_TEST_CASE(repeats_bit_for_bit_bf16) {
  repeat_bit_for_bit(DType::bf16);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace shardgpt::test
