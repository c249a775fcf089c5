#include <array>

#include "fsdp/shard_plan.hpp"
#include "tests/support/mpi_test.hpp"

using namespace shardgpt;

BOOST_AUTO_TEST_SUITE(shard_plan)

BOOST_AUTO_TEST_CASE(pieces_cover_every_element_once) {
  for (const std::int64_t elements : {1, 31, 32, 33, 1000, 49'984}) {
    for (const int ranks : {1, 2, 3, 5, 7, 16, 64}) {
      const std::array sizes = {elements};
      const UnitPlan plan = make_shard_plan(sizes, ranks)[0];
      BOOST_TEST(plan.piece % shard_alignment == 0);
      BOOST_TEST(plan.padded(ranks) >= elements);
      BOOST_TEST(plan.padded(ranks) < elements + ranks * shard_alignment);
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        BOOST_TEST(plan.begin(rank) == next);
        BOOST_TEST(plan.count(rank) >= 0);
        next += plan.count(rank);
      }
      BOOST_TEST(next == elements);
    }
  }
}

BOOST_AUTO_TEST_CASE(small_units_leave_ranks_empty) {
  const std::array<std::int64_t, 1> sizes = {40};
  const UnitPlan plan = make_shard_plan(sizes, 5)[0];
  BOOST_TEST(plan.count(0) == 32);
  BOOST_TEST(plan.count(1) == 8);
  BOOST_TEST(plan.count(2) == 0);
  BOOST_TEST(plan.count(4) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
