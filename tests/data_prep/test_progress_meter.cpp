#include <boost/test/unit_test.hpp>

#include "data_prep/progress_meter.hpp"

using namespace shardgpt;

BOOST_AUTO_TEST_SUITE(progress_meter)

namespace {

struct Fixture {
  std::string shown;
  ProgressMeter::Clock::time_point time;

  ProgressMeter meter(bool in_place) {
    return {in_place, [this](std::string_view text) { shown += text; }, [this] { return time; }};
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_terminal_has_one_line_rewritten_and_cleared, Fixture) {
  std::size_t width = 0;
  {
    ProgressMeter progress = meter(true);
    time += std::chrono::milliseconds(100);
    progress.add(1'000'000, 250'000, 0.1);
    BOOST_TEST(shown.empty());  // too soon
    time += std::chrono::milliseconds(900);
    progress.add(1'000'000, 250'000, 0.25);
    BOOST_TEST(shown == "\r2.0 MB, 2.0 MB/s, 0.50 M tokens, 25 %, ETA 0:03");
    width = shown.size() - 1;
    shown.clear();
    progress.finish();
    BOOST_TEST(shown.empty());
  }
  std::string cleared(width + 2, ' ');
  cleared.front() = '\r';
  cleared.back() = '\r';
  BOOST_TEST(shown == cleared);
}

BOOST_FIXTURE_TEST_CASE(elsewhere_lines_are_rare_and_the_last_one_stays, Fixture) {
  ProgressMeter progress = meter(false);
  time += std::chrono::seconds(9);
  progress.add(9'000'000, 9'000'000, std::nullopt);
  BOOST_TEST(shown.empty());
  time += std::chrono::seconds(1);
  progress.add(1'000'000, 1'000'000, std::nullopt);
  BOOST_TEST(shown == "10.0 MB, 1.0 MB/s, 10.00 M tokens");
  shown.clear();
  progress.finish();
  BOOST_TEST(shown.find("100 %") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(work_without_tokens_shows_none, Fixture) {
  ProgressMeter progress = meter(false);
  time += std::chrono::seconds(10);
  progress.add(5'000'000, 0, 0.5);
  BOOST_TEST(shown == "5.0 MB, 0.5 MB/s, 50 %, ETA 0:10");
}

BOOST_AUTO_TEST_SUITE_END()
