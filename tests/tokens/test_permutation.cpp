#include <cmath>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tokens/permutation.hpp"

using namespace shardgpt;

BOOST_AUTO_TEST_SUITE(permutation)

namespace {

RandomStream stream(std::uint64_t seed, std::uint32_t epoch = 0) {
  return {seed, RandomPurpose::data_order, epoch};
}

/// Chi-square of counts that should be equal, as a number of standard deviations from its mean.
double chi_square_deviation(const std::vector<int>& counts) {
  double total = 0;
  for (const int count : counts) {
    total += count;
  }
  const double expected = total / static_cast<double>(counts.size());
  double chi_square = 0;
  for (const int count : counts) {
    chi_square += (count - expected) * (count - expected) / expected;
  }
  const double freedom = static_cast<double>(counts.size()) - 1;
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_size_gives_a_permutation) {
  std::vector<std::int64_t> sizes{1023, 1024, 1025, 65536, 65537, 100'003};
  for (std::int64_t size = 1; size <= 130; ++size) {
    sizes.push_back(size);
  }
  for (const std::int64_t size : sizes) {
    const Permutation permute(size, stream(5));
    std::vector<bool> seen(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t value = permute(i);
      BOOST_TEST_REQUIRE((value >= 0 && value < size));
      BOOST_TEST_REQUIRE(!seen[static_cast<std::size_t>(value)]);
      seen[static_cast<std::size_t>(value)] = true;
    }
  }
}

BOOST_AUTO_TEST_CASE(huge_sizes_stay_in_range) {
  constexpr std::int64_t size = (std::int64_t{1} << 61) + 12345;
  const Permutation permute(size, stream(5));
  for (const std::int64_t index : {std::int64_t{0}, std::int64_t{1}, size / 2, size - 1}) {
    const std::int64_t value = permute(index);
    BOOST_TEST((value >= 0 && value < size));
  }
  BOOST_CHECK_THROW(static_cast<void>(permute(size)), std::out_of_range);
  BOOST_CHECK_THROW(static_cast<void>(permute(-1)), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(all_orders_of_few_elements_are_about_equally_likely) {
  std::vector<int> orders(6);
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const Permutation permute(3, stream(seed));
    ++orders[static_cast<std::size_t>(2 * permute(0) + (permute(1) > permute(2) ? 1 : 0))];
  }
  BOOST_TEST(std::abs(chi_square_deviation(orders)) < 5);
}

BOOST_AUTO_TEST_CASE(places_and_neighbours_are_about_uniform) {
  constexpr std::int64_t size = 1000;
  std::vector<int> first_place(100);
  std::vector<int> distances(100);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Permutation permute(size, stream(seed, 3));
    ++first_place[static_cast<std::size_t>(permute(0) / 10)];
    for (std::int64_t i = 0; i < 10; ++i) {
      const std::int64_t distance = (permute(i + 1) - permute(i) + size) % size;
      ++distances[static_cast<std::size_t>((distance - 1) * 100 / (size - 1))];
    }
  }
  BOOST_TEST(std::abs(chi_square_deviation(first_place)) < 5);
  BOOST_TEST(std::abs(chi_square_deviation(distances)) < 5);
}

BOOST_AUTO_TEST_CASE(epochs_have_orders_of_their_own) {
  const Permutation first(1000, stream(1, 0));
  const Permutation second(1000, stream(1, 1));
  const Permutation again(1000, stream(1, 0));
  int same_place = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    same_place += first(i) == second(i) ? 1 : 0;
    BOOST_TEST_REQUIRE(first(i) == again(i));
  }
  BOOST_TEST(same_place < 10);
}

BOOST_AUTO_TEST_SUITE_END()
