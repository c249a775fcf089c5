#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include <boost/test/unit_test.hpp>

#include "core/error.hpp"
#include "hf/weight_type.hpp"

using namespace shardgpt;

BOOST_AUTO_TEST_SUITE(weight_type)

BOOST_AUTO_TEST_CASE(every_half_survives_the_way_through_float) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_to_float(half);
    if (!std::isnan(value)) {
      BOOST_TEST_REQUIRE(float_to_half(value) == half);
    } else {
      BOOST_TEST_REQUIRE(std::isnan(half_to_float(float_to_half(value))));
    }
  }
}

BOOST_AUTO_TEST_CASE(half_sub_normals_keep_their_value) {
  BOOST_TEST(half_to_float(0x0001) == std::ldexp(1.0F, -24));
  BOOST_TEST(half_to_float(0x03ff) == std::ldexp(1023.0F, -24));
  BOOST_TEST(half_to_float(0x8001) == -std::ldexp(1.0F, -24));
  BOOST_TEST(half_to_float(0x7bff) == 65504.0F);
}

BOOST_AUTO_TEST_CASE(float_to_half_rounds_to_nearest_even) {
  BOOST_TEST(float_to_half(1.0F + std::ldexp(1.0F, -11)) == 0x3c00);  // tie, down to even
  BOOST_TEST(float_to_half(1.0F + std::ldexp(3.0F, -11)) == 0x3c02);  // tie, up to even
  BOOST_TEST(float_to_half(std::nextafter(1.0F + std::ldexp(1.0F, -11), 2.0F)) == 0x3c01);
  BOOST_TEST(float_to_half(65519.0F) == 0x7bff);
  BOOST_TEST(float_to_half(65520.0F) == 0x7c00);
  BOOST_TEST(float_to_half(std::ldexp(1.0F, -25)) == 0x0000);  // tie with zero
  BOOST_TEST(float_to_half(std::ldexp(1.5F, -25)) == 0x0001);
  BOOST_TEST(float_to_half(-std::ldexp(1.0F, -30)) == 0x8000);
}

// Against the nearest neighbour found by search, over many magnitudes.
BOOST_AUTO_TEST_CASE(float_to_half_is_the_nearest_half) {
  for (std::uint32_t bits = 0; bits < 0x47800000U; bits += 65'521U) {
    const auto value = std::bit_cast<float>(bits);
    const std::uint16_t half = float_to_half(value);
    const float error = std::abs(half_to_float(half) - value);
    if (half > 0) {
      BOOST_TEST_REQUIRE(error <= std::abs(half_to_float(static_cast<std::uint16_t>(half - 1)) - value));
    }
    BOOST_TEST_REQUIRE(error <= std::abs(half_to_float(static_cast<std::uint16_t>(half + 1)) - value));
  }
}

BOOST_AUTO_TEST_CASE(a_finite_value_never_becomes_infinite_in_silence) {
  std::array<std::byte, 2> bytes{};
  const std::array large = {70000.0F};
  BOOST_CHECK_EXCEPTION(encode_weights(WeightType::f16, large, bytes, "t.weight"), InputError,
                        [](const InputError& error) {
                          return std::string(error.what()).find("t.weight") != std::string::npos;
                        });
  encode_weights(WeightType::bf16, large, bytes, "t.weight");
  const std::array infinite = {std::numeric_limits<float>::infinity()};
  encode_weights(WeightType::f16, infinite, bytes, "t.weight");
}

BOOST_AUTO_TEST_SUITE_END()
