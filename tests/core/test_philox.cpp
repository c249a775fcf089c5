#include <array>
#include <cmath>

#include <boost/test/unit_test.hpp>

#include "core/philox.hpp"

using namespace shardgpt;

BOOST_AUTO_TEST_SUITE(philox)

// Known answers published with the Random123 library for philox4x32-10.
BOOST_AUTO_TEST_CASE(known_answers) {
  const std::array<std::uint32_t, 4> zeros{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  BOOST_TEST(philox4x32({0, 0, 0, 0}, {0, 0}) == zeros, boost::test_tools::per_element());
  const std::array<std::uint32_t, 4> ones{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
  constexpr std::uint32_t f = 0xffffffffU;
  BOOST_TEST(philox4x32({f, f, f, f}, {f, f}) == ones, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(normal_has_the_right_moments) {
  const RandomStream random(7, RandomPurpose::test, 1);
  double sum = 0;
  double squares = 0;
  constexpr int count = 200'000;
  for (int i = 0; i < count; ++i) {
    const double value = random.normal(static_cast<std::uint64_t>(i));
    sum += value;
    squares += value * value;
  }
  BOOST_TEST(std::abs(sum / count) < 0.01);
  BOOST_TEST(std::abs(squares / count - 1) < 0.02);
}

BOOST_AUTO_TEST_CASE(purposes_and_streams_differ) {
  const RandomStream base(1, RandomPurpose::test, 1);
  BOOST_TEST(base.uniform(5) != RandomStream(1, RandomPurpose::test, 2).uniform(5));
  BOOST_TEST(base.uniform(5) != RandomStream(1, RandomPurpose::data_order, 1).uniform(5));
  BOOST_TEST(base.uniform(5) != RandomStream(2, RandomPurpose::test, 1).uniform(5));
  BOOST_TEST(base.uniform(5) == RandomStream(1, RandomPurpose::test, 1).uniform(5));
}

BOOST_AUTO_TEST_SUITE_END()
