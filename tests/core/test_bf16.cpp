#include <cmath>
#include <limits>

#include <boost/test/unit_test.hpp>

#include "core/bf16.hpp"

using shardgpt::bf16;

BOOST_AUTO_TEST_SUITE(bf16_type)

BOOST_AUTO_TEST_CASE(rounds_to_nearest_even) {
  BOOST_TEST(float(bf16(1.0F)) == 1.0F);
  BOOST_TEST(float(bf16(1.0F + 0x1p-8F)) == 1.0F);               // tie, down to even
  BOOST_TEST(float(bf16(1.0F + 0x3p-8F)) == 1.0F + 0x1p-6F);     // tie, up to even
  BOOST_TEST(float(bf16(1.0F + 0x1.02p-8F)) == 1.0F + 0x1p-7F);  // above the tie
  BOOST_TEST(std::isinf(float(bf16(std::numeric_limits<float>::max()))));
}

BOOST_AUTO_TEST_CASE(keeps_special_values) {
  BOOST_TEST(std::isnan(float(bf16(std::numeric_limits<float>::quiet_NaN()))));
  BOOST_TEST(std::isinf(float(bf16(-std::numeric_limits<float>::infinity()))));
  BOOST_TEST(std::signbit(float(bf16(-0.0F))));
}

BOOST_AUTO_TEST_SUITE_END()
