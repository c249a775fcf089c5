// On the host implementation: no order of threads and blocks changes a bit.
#include <boost/test/unit_test.hpp>

#include "compare_ops.hpp"
#include "cuda_implementations.hpp"
#include "tests/cuda_on_host/exec/options.hpp"

namespace shardgpt::test {
namespace {

std::vector<Result> run_in_order(const NamedCase& op, const Implementation& on, const CaseSizes& sizes,
                                 const cuda_on_host::Options& options) {
  const cuda_on_host::Options before = cuda_on_host::current_options();
  cuda_on_host::set_options(options);
  std::vector<Result> results = op.run(on, sizes);
  cuda_on_host::set_options(before);
  return results;
}

void keep_bits_in_every_order(DType dtype) {
  using enum cuda_on_host::ThreadOrder;
  const CaseSizes sizes{{2, 90}, 128, 2, 503, 512, 8};
  for (const NamedCase& op : op_cases()) {
    const Implementation on = make_cuda(dtype, sizes.limits());
    const auto first = run_in_order(op, on, sizes, {ascending, 1});
    for (const cuda_on_host::Options& options :
         {cuda_on_host::Options{newest_first, 1}, {random, 1}, {random, 2}, {ascending, 1}}) {
      const auto again = run_in_order(op, on, sizes, options);
      for (std::size_t i = 0; i < first.size(); ++i) {
        BOOST_TEST((first[i].values == again[i].values), op.name << ' ' << first[i].name);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE(cuda_orders)

BOOST_AUTO_TEST_CASE(every_order_gives_the_same_bits_f32) {
  keep_bits_in_every_order(DType::f32);
}
BOOST_AUTO_TEST_CASE(every_order_gives_the_same_bits_bf16) {
  keep_bits_in_every_order(DType::bf16);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace shardgpt::test
