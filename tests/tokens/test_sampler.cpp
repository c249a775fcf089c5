#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "token_files.hpp"
#include "tokens/sampler.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(sampler)

namespace {

SamplerConfig config(std::int64_t windows, std::int64_t global_batch,
                     SampleOrder order = SampleOrder::shuffled) {
  SamplerConfig result;
  result.seq_len = 8;
  result.tokens = windows * 8 + 1;
  result.global_batch = global_batch;
  result.order = order;
  result.seed = 42;
  return result;
}

std::vector<std::int64_t> over_ranks(const Sampler& sampler, std::int64_t step, int ranks) {
  std::vector<std::int64_t> all;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto part = sampler.windows(step, rank, ranks);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_are_shared_out_without_gap) {
  for (const std::int64_t rows : {0, 1, 3, 7, 8, 128}) {
    for (const int ranks : {1, 2, 3, 4, 5, 16}) {
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const RowRange range = rank_rows(rows, rank, ranks);
        BOOST_TEST(range.begin == next);
        BOOST_TEST(range.size() <= (rows + ranks - 1) / ranks);
        next = range.end;
      }
      BOOST_TEST(next == rows);
    }
  }
  BOOST_TEST(rank_rows(7, 1, 3).begin == 2);
  BOOST_TEST(rank_rows(7, 1, 3).end == 4);
  BOOST_CHECK_THROW(static_cast<void>(rank_rows(7, 3, 3)), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(sequential_order_is_the_stream) {
  const Sampler sampler(config(10, 4, SampleOrder::sequential));
  BOOST_TEST(over_ranks(sampler, 0, 3) == (std::vector<std::int64_t>{0, 1, 2, 3}),
             boost::test_tools::per_element());
  // Step 2 crosses from epoch 0 into epoch 1.
  BOOST_TEST(over_ranks(sampler, 2, 2) == (std::vector<std::int64_t>{8, 9, 0, 1}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_window_comes_once_an_epoch_whatever_the_ranks) {
  const Sampler sampler(config(37, 5));
  for (const int ranks : {1, 2, 4, 7}) {
    std::vector<std::int64_t> samples;
    for (std::int64_t step = 0; step < 15; ++step) {
      const auto part = over_ranks(sampler, step, ranks);
      BOOST_TEST(part == over_ranks(sampler, step, 1), boost::test_tools::per_element());
      samples.insert(samples.end(), part.begin(), part.end());
    }
    for (const std::int64_t epoch : {0, 1}) {
      std::vector<std::int64_t> windows(samples.begin() + epoch * 37, samples.begin() + (epoch + 1) * 37);
      BOOST_TEST(!std::is_sorted(windows.begin(), windows.end()));
      std::sort(windows.begin(), windows.end());
      for (std::int64_t window = 0; window < 37; ++window) {
        BOOST_TEST(windows[static_cast<std::size_t>(window)] == window);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(seeds_differ) {
  SamplerConfig other = config(1000, 10);
  other.seed = 43;
  BOOST_TEST(Sampler(config(1000, 10)).windows(0, 0, 1) != Sampler(other).windows(0, 0, 1));
}

BOOST_AUTO_TEST_CASE(the_last_batch_is_short) {
  SamplerConfig limited = config(10, 4);
  limited.sample_limit = Sampler(limited).samples_in_epochs(3);
  const Sampler sampler(limited);
  BOOST_TEST(limited.sample_limit == 30);
  BOOST_TEST(sampler.steps_for(30) == 8);
  BOOST_TEST(sampler.rows_in(6) == 4);
  BOOST_TEST(sampler.rows_in(7) == 2);
  BOOST_TEST(sampler.rows_in(8) == 0);
  BOOST_TEST(over_ranks(sampler, 7, 4).size() == 2U);
  BOOST_TEST(sampler.windows(8, 0, 1).empty());
}

BOOST_AUTO_TEST_CASE(too_little_data_is_refused_with_numbers_and_knobs) {
  SamplerConfig small;
  small.tokens = 1000;
  small.seq_len = 64;
  small.global_batch = 128;
  BOOST_CHECK_EXCEPTION(Sampler{small}, InputError,
                        Says({"1000 tokens", "8193", "--global-batch 128", "--seq-len 64"}));
  small.tokens = 8192;
  BOOST_CHECK_THROW(Sampler{small}, InputError);
  small.tokens = 8193;
  BOOST_TEST(Sampler(small).windows_per_epoch() == 128);
  small.global_batch = 0;
  BOOST_CHECK_EXCEPTION(Sampler{small}, InputError, Says({"--global-batch", "0"}));
}

BOOST_AUTO_TEST_SUITE_END()
