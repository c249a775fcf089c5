#define BOOST_TEST_MODULE optim
#include <cmath>

#include <boost/test/unit_test.hpp>

#include "core/error.hpp"
#include "optim/adamw.hpp"
#include "optim/schedule.hpp"

using namespace shardgpt;

namespace {

LearningRateSchedule schedule(ScheduleKind kind, std::int64_t warmup, std::int64_t total,
                              std::int64_t decay = 0) {
  return {.kind = kind,
          .lr = 1.0,
          .min_lr = 0.1,
          .warmup_steps = warmup,
          .decay_steps = decay,
          .total_steps = total};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(learning_rate)

BOOST_AUTO_TEST_CASE(warm_up_starts_above_zero_and_the_peak_is_reached_at_its_end) {
  for (const ScheduleKind kind : {ScheduleKind::cosine, ScheduleKind::linear, ScheduleKind::constant}) {
    const auto rate = schedule(kind, 4, 10);
    BOOST_TEST(rate.at(0) == 0.25);
    BOOST_TEST(rate.at(3) == 1.0);
    BOOST_TEST(rate.at(4) == 1.0);
  }
}

BOOST_AUTO_TEST_CASE(rates_fall_to_the_end_and_never_leave_their_bounds) {
  for (const ScheduleKind kind : {ScheduleKind::cosine, ScheduleKind::linear}) {
    for (const auto& [warmup, total] : {std::pair{4, 10}, {0, 10}, {10, 10}, {0, 1}, {1, 1}}) {
      const auto rate = schedule(kind, warmup, total);
      rate.validate();
      for (std::int64_t step = warmup; step < total; ++step) {
        BOOST_TEST(rate.at(step) <= 1.0);
        BOOST_TEST(rate.at(step) >= 0.1);
        BOOST_TEST((step == warmup || rate.at(step) < rate.at(step - 1)));
      }
      BOOST_TEST(std::abs(rate.at(total) - (warmup == total ? 1.0 : 0.1)) <
                 1e-12);  // min at N, one behind the last
    }
  }
}

BOOST_AUTO_TEST_CASE(formulas) {
  BOOST_TEST(std::abs(schedule(ScheduleKind::cosine, 0, 10).at(5) - 0.55) < 1e-12);
  BOOST_TEST(std::abs(schedule(ScheduleKind::linear, 0, 10).at(2) - 0.82) < 1e-12);
  const auto wsd = schedule(ScheduleKind::wsd, 2, 10, 4);
  BOOST_TEST(wsd.at(1) == 1.0);
  BOOST_TEST(wsd.at(5) == 1.0);
  BOOST_TEST(wsd.at(6) == 1.0);
  BOOST_TEST(std::abs(wsd.at(8) - 0.55) < 1e-12);
}

BOOST_AUTO_TEST_CASE(wrong_values_are_refused) {
  BOOST_CHECK_THROW(schedule(ScheduleKind::cosine, 20, 10).validate(), InputError);
  BOOST_CHECK_THROW(schedule(ScheduleKind::wsd, 5, 10, 6).validate(), InputError);
  auto rate = schedule(ScheduleKind::cosine, 0, 10);
  rate.min_lr = 2;
  BOOST_CHECK_THROW(rate.validate(), InputError);
  rate.min_lr = 0;
  rate.lr = NAN;
  BOOST_CHECK_THROW(rate.validate(), InputError);
  BOOST_CHECK_THROW((AdamWOptions{.beta1 = 1.0}).validate(), InputError);
  BOOST_CHECK_THROW((AdamWOptions{.eps = 0}).validate(), InputError);
}

BOOST_AUTO_TEST_CASE(names_go_both_ways) {
  for (const char* name : {"cosine", "linear", "constant", "wsd"}) {
    BOOST_TEST(schedule_name(*schedule_kind(name)) == name);
  }
  BOOST_TEST(!schedule_kind("step").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
