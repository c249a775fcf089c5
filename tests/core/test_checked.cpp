#include <cstdint>
#include <stdexcept>

#include <boost/test/unit_test.hpp>

#include "core/checked.hpp"

using namespace shardgpt;

BOOST_AUTO_TEST_SUITE(checked)

BOOST_AUTO_TEST_CASE(narrow_refuses_what_does_not_fit) {
  BOOST_TEST(narrow<std::uint8_t>(255) == 255);
  BOOST_CHECK_THROW((void)narrow<std::uint8_t>(256), std::overflow_error);
  BOOST_CHECK_THROW((void)narrow<std::uint64_t>(-1), std::overflow_error);
}

BOOST_AUTO_TEST_CASE(arithmetic_refuses_to_wrap) {
  BOOST_CHECK_THROW((void)checked_mul<std::int64_t>(INT64_MAX / 2, 3), std::overflow_error);
  BOOST_CHECK_THROW((void)checked_add<std::uint64_t>(UINT64_MAX, 1), std::overflow_error);
  BOOST_TEST(round_up(10, 4) == 12);
  BOOST_TEST(ceil_div(8, 4) == 2);
}

BOOST_AUTO_TEST_SUITE_END()
