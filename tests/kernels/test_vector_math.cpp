// The vector code's own exponential, compiled here once more for the baseline.
#define SHARDGPT_VECTOR_NAMESPACE tested
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <boost/test/unit_test.hpp>

#include "core/bf16.hpp"
#include "kernels/cpu/vector/vector_math.hpp"

namespace shardgpt::test {
namespace {

using cpu::tested::bf16_bits;
using cpu::tested::exp_of;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

BOOST_AUTO_TEST_SUITE(vector_math)

BOOST_AUTO_TEST_CASE(exponential_is_accurate) {
  double worst = 0;
  for (int i = 0; i < 1279000; ++i) {
    const auto argument = static_cast<float>(-87.3 + 1.37e-4 * i);
    const double wanted = std::exp(static_cast<double>(argument));
    const double ulp = std::ldexp(1.0, std::ilogb(wanted) - 23);
    worst = std::max(worst, std::abs(static_cast<double>(exp_of(argument)) - wanted) / ulp);
  }
  BOOST_TEST(worst < 1.1);
}

BOOST_AUTO_TEST_CASE(exponential_outside_its_range) {
  BOOST_TEST(exp_of(-infinity) == 0.0F);
  BOOST_TEST(exp_of(-1e30F) == 0.0F);
  BOOST_TEST(exp_of(-0.0F) == 1.0F);
  BOOST_TEST(exp_of(infinity) == exp_of(88.0F));
  BOOST_TEST(std::isnan(exp_of(nan)));
}

BOOST_AUTO_TEST_CASE(rounds_like_core) {
  for (const float value : {0.0F, -0.0F, 1.0F, 1.00390625F, 1.01171875F, -3.1415927F, 3.4e38F, 1e-40F,
                            infinity, -infinity, nan}) {
    BOOST_TEST(bf16_bits(value) == bf16(value).bits, value);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace shardgpt::test
