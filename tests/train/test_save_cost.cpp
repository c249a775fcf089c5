// What a save costs, the interval that follows, and the time that is left for saving.
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "tests/support/mpi_test.hpp"
#include "train/hold_up_meter.hpp"
#include "train/save_interval.hpp"
#include "train/stop_requests.hpp"

using namespace shardgpt;

BOOST_AUTO_TEST_SUITE(save_cost)

BOOST_AUTO_TEST_CASE(steps_beside_a_save_are_compared_with_those_without) {
  HoldUpMeter meter;
  BOOST_TEST(!meter.usual_step().has_value());
  for (const double seconds : {9.0, 1.0, 1.1, 0.9, 1.0}) {  // the first step of a start is a slow one
    meter.step_took(seconds, false);
  }
  BOOST_TEST(meter.usual_step().value() == 1.0);
  meter.begin_save();
  meter.step_took(1.25, true);
  meter.step_took(1.25, true);
  BOOST_TEST(meter.held_up() == 0.5);
  meter.stood_still(2);
  BOOST_TEST(meter.held_up() == 2.5);
  meter.begin_save();
  BOOST_TEST(meter.held_up() == 0.0);
  meter.step_took(0.5, true);  // faster by chance: a save gives no time back
  BOOST_TEST(meter.held_up() == 0.0);
}

BOOST_AUTO_TEST_CASE(without_a_usual_step_only_the_waiting_counts) {
  HoldUpMeter meter;
  meter.begin_save();
  meter.step_took(5, true);
  meter.stood_still(0.25);
  BOOST_TEST(meter.held_up() == 0.25);
}

BOOST_AUTO_TEST_CASE(old_steps_are_forgotten) {
  HoldUpMeter meter;
  for (int step = 0; step < 100; ++step) {
    meter.step_took(step < 60 ? 1 : 2, false);
  }
  BOOST_TEST(meter.usual_step().value() == 2.0);
}

BOOST_AUTO_TEST_CASE(young_daly) {
  // Young's own figures: a failure every day, 10 minutes a checkpoint.
  BOOST_TEST(young_daly_interval(600, 24 * 3600) == std::sqrt(2.0 * 600 * 24 * 3600));
  BOOST_TEST(young_daly_interval(0, 1) == 0.0);
  const std::string text = suggest_interval({.held_up = 2, .durable_after = 30, .step_seconds = 1.5}, 16);
  // sqrt(2 x 2 x 57600) = 480 s
  BOOST_TEST(text.find("320 steps or 8.0 minutes") != std::string::npos, text);
  BOOST_TEST(suggest_interval({.held_up = 2, .durable_after = 30, .step_seconds = {}}, 16).find("steps") ==
             std::string::npos);
  // Never more often than one save after the other.
  const std::string slow = suggest_interval({.held_up = 0, .durable_after = 90, .step_seconds = 1.0}, 16);
  BOOST_TEST(slow.find("90 steps or 1.5 minutes") != std::string::npos, slow);
}

BOOST_AUTO_TEST_CASE(the_time_limit_leaves_room_for_the_save) {
  RunOptions options;
  options.max_seconds = 1000;
  StopRequests requests(options, "no-such-folder/stop", /*watches_file=*/true);
  BOOST_TEST(!requests.any(0));
  BOOST_TEST(!requests.any(900));
  BOOST_TEST(requests.any(1000));
  options.max_seconds = 0;
  BOOST_TEST(!requests.any(1e9));
}

BOOST_AUTO_TEST_CASE(the_end_of_the_batch_job_leaves_room_too) {
  ::setenv("SLURM_JOB_END_TIME", std::to_string(std::time(nullptr) + 1000).c_str(), 1);
  const auto asks = [](std::int64_t end_margin, double seconds_needed) {
    RunOptions options;
    options.end_margin = end_margin;
    return StopRequests(options, "no-such-folder/stop", /*watches_file=*/true).any(seconds_needed);
  };
  BOOST_TEST(!asks(60, 0));
  BOOST_TEST(!asks(60, 600));
  BOOST_TEST(asks(60, 640));  // half as much again, and the margin
  // Of a short job the margin takes a quarter: it would get nowhere otherwise.
  BOOST_TEST(!asks(1010, 490));
  BOOST_TEST(asks(1010, 510));
  BOOST_TEST(!asks(-1, 1e9));
  for (const char* none : {"", "NONE", "0", "12h"}) {
    ::setenv("SLURM_JOB_END_TIME", none, 1);
    BOOST_TEST(!batch_job_end().has_value());
  }
  ::unsetenv("SLURM_JOB_END_TIME");
  BOOST_TEST(!batch_job_end().has_value());
}

BOOST_AUTO_TEST_CASE(a_stop_file_of_before_the_start_is_removed) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("shardgpt-stop-test-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto touch = [&] { std::ofstream(folder / "stop") << ""; };
  touch();
  const RunOptions options;
  StopRequests bystander(options, folder / "stop", /*watches_file=*/false);
  BOOST_TEST(std::filesystem::exists(folder / "stop"));
  StopRequests requests(options, folder / "stop", /*watches_file=*/true);
  BOOST_TEST(!std::filesystem::exists(folder / "stop"));
  touch();
  BOOST_TEST(requests.any(0));
  BOOST_TEST(!bystander.any(0));
  std::filesystem::remove(folder / "stop");
  BOOST_TEST(requests.any(0));  // asked is asked
  touch();
  requests.remove_file();
  BOOST_TEST(!std::filesystem::exists(folder / "stop"));
  std::filesystem::remove_all(folder);
}

BOOST_AUTO_TEST_SUITE_END()
