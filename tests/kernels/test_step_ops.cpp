// What ends an optimizer step: norms, scalars, AdamW; the same checks for every implementation.
#include <cmath>
#include <functional>
#include <limits>

#include <boost/test/unit_test.hpp>

#include "ops_harness.hpp"

namespace shardgpt::test {
namespace {

void on_each(const std::function<void(const Implementation&)>& check) {
  check(make_reference(DType::f32));
  for (const Implementation& one : tested_implementations(DType::f32, {})) {
    check(one);
  }
}

std::vector<float> random_floats(std::int64_t count, std::uint32_t stream, double scale = 1.0) {
  const auto values = random_values(count, stream, scale);
  return {values.begin(), values.end()};
}

double norm_squared(const Implementation& on, const std::vector<float>& values) {
  const OnDevice<float> on_device(on, values);
  const OnDevice<double> found(on, {-1});
  on.ops->norm_squared(on.compute(), on_device.data(), static_cast<std::int64_t>(values.size()),
                       found.data());
  return found.read().front();
}

StepScalars finished(const Implementation& on, const StepSums& sums, double clip,
                     const StepScalars& before = {}) {
  const OnDevice<StepSums> reduced(on, {sums});
  const OnDevice<StepScalars> scalars(on, {before});
  on.ops->finish_step(on.compute(), reduced.data(), clip, scalars.data());
  return scalars.read().front();
}

BOOST_AUTO_TEST_SUITE(step_ops)

BOOST_AUTO_TEST_CASE(norm_is_a_sum_in_double) {
  on_each([](const Implementation& on) {
    for (const std::int64_t count : {0, 1, 1000, 300001}) {
      const auto values = random_floats(count, 1, 1e-3);
      double wanted = 0;
      for (const float value : values) {
        wanted += static_cast<double>(value) * static_cast<double>(value);
      }
      const double found = norm_squared(on, values);
      BOOST_TEST(std::abs(found - wanted) <= 1e-12 * wanted, on.name << ": " << found << " for " << wanted);
    }
  });
}

BOOST_AUTO_TEST_CASE(norm_of_huge_gradients_is_finite) {
  on_each([](const Implementation& on) {
    const std::vector<float> values(100, std::numeric_limits<float>::max());
    BOOST_TEST(std::isfinite(norm_squared(on, values)), on.name);
  });
}

BOOST_AUTO_TEST_CASE(norm_parts_are_summed) {
  on_each([](const Implementation& on) {
    const OnDevice<double> parts(on, {1.5, 2.25, 4});
    const StepSums before{.loss = 1, .targets = 2, .grad_norm_squared = 99, .signals = {}};
    const OnDevice<StepSums> on_device(on, {before});
    on.ops->sum_norms(on.compute(), parts.data(), 3, on_device.data());
    const StepSums sums = on_device.read().front();
    BOOST_TEST(sums.grad_norm_squared == 7.75);
    BOOST_TEST(sums.loss == 1.0);
  });
}

BOOST_AUTO_TEST_CASE(step_is_scaled_and_clipped) {
  on_each([](const Implementation& on) {
    const StepSums sums{.loss = 30,
                        .targets = 10,
                        .grad_norm_squared = 400,
                        .signals = {.stop = 1, .save = 2, .save_ended = 3}};
    const StepScalars clipped = finished(on, sums, 0.5);
    BOOST_TEST(clipped.loss == 3.0);
    BOOST_TEST(clipped.targets == 10.0);
    BOOST_TEST(clipped.grad_norm == 2.0);
    BOOST_TEST(clipped.grad_scale == 0.5 / (2.0 + 1e-6) / 10.0);
    BOOST_TEST(clipped.signals.stop == 1.0);
    BOOST_TEST(clipped.signals.save == 2.0);
    BOOST_TEST(clipped.signals.save_ended == 3.0);
    BOOST_TEST(clipped.applied == 1);
    BOOST_TEST(clipped.adam_step == 1);
    BOOST_TEST(clipped.skipped_total == 0);
    BOOST_TEST(finished(on, sums, 3.0).grad_scale == 0.1);
    BOOST_TEST(finished(on, sums, 0.0).grad_scale == 0.1);
    BOOST_TEST(finished(on, sums, 0.5, clipped).adam_step == 2);
  });
}

BOOST_AUTO_TEST_CASE(step_is_skipped) {
  on_each([](const Implementation& on) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<StepSums> bad{
        {1, 0, 0, {}}, {nan, 10, 1, {}}, {infinity, 10, 1, {}}, {1, 10, infinity, {}}, {1, 10, nan, {}}};
    StepScalars scalars{.adam_step = 7, .skipped_total = 2};
    for (const StepSums& sums : bad) {
      scalars = finished(on, sums, 1.0, scalars);
      BOOST_TEST(scalars.applied == 0);
      BOOST_TEST(scalars.grad_scale == 0.0);
      BOOST_TEST(scalars.adam_step == 7);
    }
    BOOST_TEST(scalars.skipped_total == 7);
    BOOST_TEST(finished(on, bad.front(), 1.0).loss == 0.0);
  });
}

/// AdamW as the paper writes it, on numbers of its own in double.
struct DoubleAdamW {
  std::vector<double> param;
  std::vector<double> m;
  std::vector<double> v;

  void step(const std::vector<float>& grad, const AdamWPiece& piece, double scale, int t) {
    for (std::size_t i = 0; i < param.size(); ++i) {
      const double g = static_cast<double>(grad[i]) * scale;
      param[i] -= piece.lr * piece.weight_decay * param[i];
      m[i] = piece.beta1 * m[i] + (1 - piece.beta1) * g;
      v[i] = piece.beta2 * v[i] + (1 - piece.beta2) * g * g;
      const double m_hat = m[i] / (1 - std::pow(piece.beta1, t));
      const double v_hat = v[i] / (1 - std::pow(piece.beta2, t));
      param[i] -= piece.lr * m_hat / (std::sqrt(v_hat) + piece.eps);
    }
  }
};

BOOST_AUTO_TEST_CASE(adamw_follows_double) {
  on_each([](const Implementation& on) {
    constexpr std::int64_t count = 1003;
    const auto start = random_floats(count, 1);
    const OnDevice<float> param(on, start);
    const OnDevice<float> m(on, std::vector<float>(count));
    const OnDevice<float> v(on, std::vector<float>(count));
    DoubleAdamW wanted{{start.begin(), start.end()}, std::vector<double>(count), std::vector<double>(count)};
    StepScalars scalars{.grad_scale = 0.25, .applied = 1};
    for (int t = 1; t <= 20; ++t) {
      const auto grad = random_floats(count, static_cast<std::uint32_t>(1 + t), 1e-2);
      const OnDevice<float> on_device(on, grad);
      const AdamWPiece piece{.param = param.data(),
                             .adam_m = m.data(),
                             .adam_v = v.data(),
                             .grad = on_device.data(),
                             .count = count,
                             .lr = 1e-2 / t,
                             .beta1 = 0.9,
                             .beta2 = 0.95,
                             .eps = 1e-8,
                             .weight_decay = t % 2 == 0 ? 0.1 : 0.0};
      scalars.adam_step = t;
      const OnDevice<StepScalars> scalars_on_device(on, {scalars});
      on.ops->adamw(on.compute(), piece, scalars_on_device.data());
      on.compute().synchronize();
      wanted.step(grad, piece, scalars.grad_scale, t);
    }
    BOOST_TEST(relative_difference(param.read(), wanted.param) < 3e-7, on.name);
    BOOST_TEST(relative_difference(m.read(), wanted.m) < 3e-7, on.name);
    BOOST_TEST(relative_difference(v.read(), wanted.v) < 3e-7, on.name);
  });
}

BOOST_AUTO_TEST_CASE(skipped_adamw_changes_nothing) {
  on_each([](const Implementation& on) {
    const OnDevice<float> param(on, {1, 2, 3});
    const OnDevice<float> m(on, {4, 5, 6});
    const OnDevice<float> v(on, {7, 8, 9});
    const OnDevice<float> grad(on, std::vector<float>(3, std::numeric_limits<float>::quiet_NaN()));
    const OnDevice<StepScalars> scalars(on, {{.applied = 0, .adam_step = 1}});
    on.ops->adamw(on.compute(),
                  {.param = param.data(),
                   .adam_m = m.data(),
                   .adam_v = v.data(),
                   .grad = grad.data(),
                   .count = 3,
                   .lr = 1,
                   .beta1 = 0.9,
                   .beta2 = 0.95,
                   .eps = 1e-8,
                   .weight_decay = 0.1},
                  scalars.data());
    BOOST_TEST(param.read() == (std::vector<float>{1, 2, 3}));
    BOOST_TEST(m.read() == (std::vector<float>{4, 5, 6}));
    BOOST_TEST(v.read() == (std::vector<float>{7, 8, 9}));
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace shardgpt::test
