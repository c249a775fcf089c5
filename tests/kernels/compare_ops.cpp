#include "compare_ops.hpp"

#include <boost/test/unit_test.hpp>

namespace shardgpt::test {
namespace {

/// Largest relative difference to the reference.
double tolerance(DType dtype, bool wide) {
  return dtype == DType::f32 ? 2e-6 : wide ? 4e-3 : 8e-3;
}

}  // namespace

void check_close(const std::vector<Result>& actual, const std::vector<Result>& expected, DType dtype,
                 const std::string& where) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = relative_difference(actual[i].values, expected[i].values);
    BOOST_TEST(difference <= tolerance(dtype, expected[i].wide),
               where << ", " << expected[i].name << ": " << difference);
  }
}

void agree_with_reference(DType dtype, const std::vector<CaseSizes>& all_sizes) {
  const Implementation reference = make_reference(dtype);
  for (const CaseSizes& sizes : all_sizes) {
    const std::vector<Implementation> tested = tested_implementations(dtype, sizes.limits());
    for (const NamedCase& op : op_cases()) {
      const auto expected = op.run(reference, sizes);
      for (const Implementation& one : tested) {
        check_close(op.run(one, sizes), expected, dtype,
                    one.name + ' ' + op.name + " at " + std::to_string(sizes.shape.rows) + " x " +
                        std::to_string(sizes.shape.seq_len) + " x " + std::to_string(sizes.channels));
      }
    }
  }
}

}  // namespace shardgpt::test
