#include <atomic>
#include <stdexcept>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "token_files.hpp"
#include "tokens/batch_prefetcher.hpp"
#include "tokens/window_batches.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(batches)

namespace {

/// Batches that name their step; throws at one step while told to.
class NumberedSource final : public BatchSource {
 public:
  struct Log {
    std::atomic<int> calls{0};
    std::atomic<std::int64_t> bad_step{-1};
  };
  explicit NumberedSource(std::shared_ptr<Log> log) : log_(std::move(log)) {}
  Batch batch(std::int64_t step) override {
    ++log_->calls;
    if (step == log_->bad_step) {
      throw InputError("bad step");
    }
    Batch result;
    result.rows = 1;
    result.seq_len = 1;
    result.inputs = {static_cast<std::int32_t>(step)};
    return result;
  }

 private:
  std::shared_ptr<Log> log_;
};

std::shared_ptr<const TokenDataset> counting_dataset(const TemporaryFolder& folder, std::int32_t tokens) {
  write_set(folder.path(), counting(0, tokens), 7);
  return std::make_shared<const TokenDataset>(TokenDataset::open(folder.path(), 50257));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_training_batch_holds_the_sampled_windows) {
  const TemporaryFolder folder;
  const auto dataset = counting_dataset(folder, 81);
  SamplerConfig config;
  config.tokens = 81;
  config.seq_len = 8;
  config.global_batch = 5;
  const Sampler sampler(config);
  SampledBatches source(dataset, sampler, 1, 2);
  for (const std::int64_t step : {0, 1, 7}) {
    const Batch batch = source.batch(step);
    const auto windows = sampler.windows(step, 1, 2);
    BOOST_TEST(batch.rows == 3);
    BOOST_TEST(batch.seq_len == 8);
    for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
      const auto place = static_cast<std::int32_t>(windows[i / 8] * 8 + static_cast<std::int64_t>(i % 8));
      BOOST_TEST(batch.inputs[i] == place);
      BOOST_TEST(batch.targets[i] == place + 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(validation_covers_every_window_once_on_any_number_of_ranks) {
  const TemporaryFolder folder;
  const auto dataset = counting_dataset(folder, 90);  // 11 windows of 8
  for (const int ranks : {1, 3, 4}) {
    std::vector<std::int32_t> starts;
    ValidationBatches first(dataset, 8, 4, 0, ranks);
    BOOST_TEST(first.batches() == 3);
    for (std::int64_t step = 0; step < first.batches(); ++step) {
      for (int rank = 0; rank < ranks; ++rank) {
        const Batch batch = ValidationBatches(dataset, 8, 4, rank, ranks).batch(step);
        for (std::int64_t row = 0; row < batch.rows; ++row) {
          starts.push_back(batch.inputs[static_cast<std::size_t>(row * 8)]);
        }
      }
    }
    BOOST_TEST(starts == (std::vector<std::int32_t>{0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80}),
               boost::test_tools::per_element());
    BOOST_TEST(first.batch(3).rows == 0);
  }
  BOOST_TEST(ValidationBatches(dataset, 8, 4, 0, 1, 5).batches() == 2);
  BOOST_TEST(ValidationBatches(dataset, 8, 4, 0, 1, 5).batch(1).rows == 1);
  BOOST_CHECK_EXCEPTION(ValidationBatches(dataset, 90, 4, 0, 1), InputError, Says({"90 tokens", "91"}));
}

BOOST_AUTO_TEST_CASE(the_prefetcher_keeps_order_and_seeks) {
  const auto log = std::make_shared<NumberedSource::Log>();
  BatchPrefetcher prefetcher(std::make_unique<NumberedSource>(log));
  for (const std::int32_t step : {0, 1, 2, 3, 10, 11, 4, 5, 5, 0, 1}) {
    BOOST_TEST(prefetcher.batch(step).inputs.at(0) == step);
  }
}

BOOST_AUTO_TEST_CASE(the_prefetcher_reads_ahead_but_not_without_bound) {
  const auto log = std::make_shared<NumberedSource::Log>();
  BatchPrefetcher prefetcher(std::make_unique<NumberedSource>(log), 3);
  BOOST_TEST(log->calls == 0);
  BOOST_TEST(prefetcher.batch(0).inputs.at(0) == 0);
  for (int wait = 0; wait < 2000 && log->calls < 4; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  BOOST_TEST(log->calls == 4);
}

BOOST_AUTO_TEST_CASE(errors_of_the_thread_reach_the_caller_in_order) {
  const auto log = std::make_shared<NumberedSource::Log>();
  log->bad_step = 2;
  BatchPrefetcher prefetcher(std::make_unique<NumberedSource>(log));
  BOOST_TEST(prefetcher.batch(0).inputs.at(0) == 0);
  BOOST_TEST(prefetcher.batch(1).inputs.at(0) == 1);
  BOOST_CHECK_THROW(static_cast<void>(prefetcher.batch(2)), InputError);
  BOOST_CHECK_THROW(static_cast<void>(prefetcher.batch(2)), InputError);
  log->bad_step = -1;
  BOOST_TEST(prefetcher.batch(2).inputs.at(0) == 2);
  BOOST_TEST(prefetcher.batch(3).inputs.at(0) == 3);
}

BOOST_AUTO_TEST_CASE(the_prefetcher_ends_cleanly_at_any_moment) {
  for (int round = 0; round < 50; ++round) {
    const auto log = std::make_shared<NumberedSource::Log>();
    BatchPrefetcher prefetcher(std::make_unique<NumberedSource>(log));
    if (round % 2 == 1) {
      BOOST_TEST(prefetcher.batch(round).inputs.at(0) == round);
    }
  }
  BOOST_CHECK_THROW(BatchPrefetcher(nullptr), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
