// Values and shapes at the edge: huge logits and scores, saturated gelu, vocabulary padding, non-finite
// input.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <boost/test/unit_test.hpp>

#include "ops_harness.hpp"

namespace shardgpt::test {
namespace {

const OpsLimits limits{2, 70, 64, 4, 128};

void on_each(DType dtype, const std::function<void(const Implementation&)>& check) {
  check(make_reference(dtype));
  for (const cpu::CpuOptions& options : all_cpu_options()) {
    check(make_cpu(dtype, limits, 2, options));
  }
}

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

/// A classifier whose logits are features of one channel times rows of one channel.
struct OneChannelClassifier {
  std::int64_t vocab = 5;
  std::int64_t padded_vocab = 16;
  Typed in;
  Typed wte;
  Typed din;
  std::vector<float> dwte;
  std::vector<std::int32_t> targets;
  StepSums sums;

  OneChannelClassifier(const Implementation& on, const std::vector<double>& features,
                       const std::vector<double>& rows, std::vector<std::int32_t> targets_in)
      : in(on.ops->dtype(), features),
        wte(on.ops->dtype(), rows),
        din(on.ops->dtype(), features),
        dwte(16, 0.0F),
        targets(std::move(targets_in)) {
    const auto count = static_cast<std::int64_t>(targets.size());
    on.ops->classifier(on.compute(), {.in = in.matrix(count, 1),
                                      .wte = wte.matrix(padded_vocab, 1),
                                      .vocab = vocab,
                                      .targets = targets.data(),
                                      .sums = &sums,
                                      .din = din.matrix(count, 1),
                                      .dwte = dwte.data()});
    on.compute().synchronize();
  }
};

std::vector<double> padded_rows(std::vector<double> rows) {
  rows.resize(16);
  return rows;
}

BOOST_AUTO_TEST_SUITE(extremes)

BOOST_AUTO_TEST_CASE(huge_logits) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    on_each(dtype, [](const Implementation& on) {
      // Logits 8192, -8192, 0, 4096, -4096 and their negatives: the softmax is one-hot.
      const OneChannelClassifier run(on, {64, -64}, padded_rows({128, -128, 0, 64, -64}), {0, 0});
      BOOST_TEST(run.sums.loss == 16384.0, on.name);
      BOOST_TEST(run.sums.targets == 2.0);
      BOOST_TEST(all_finite(run.din.values()));
      BOOST_TEST(run.din.values()[0] == 0.0);
      BOOST_TEST(run.din.values()[1] == -256.0, on.name);
    });
  }
}

BOOST_AUTO_TEST_CASE(padding_takes_no_part) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    on_each(dtype, [](const Implementation& on) {
      // Equal logits: the loss is ln 5 only if the 11 padding columns have no probability.
      const OneChannelClassifier run(on, {1, 1}, padded_rows({}), {2, -100});
      BOOST_TEST(std::abs(run.sums.loss - std::log(5.0)) < 1e-6, on.name << ' ' << run.sums.loss);
      BOOST_TEST(run.sums.targets == 1.0);
      for (std::size_t row = 5; row < 16; ++row) {
        BOOST_TEST(run.dwte[row] == 0.0F, on.name);
      }
      BOOST_TEST(std::abs(static_cast<double>(run.dwte[2]) + 0.8) < 4e-3);
    });
  }
}

BOOST_AUTO_TEST_CASE(non_finite_features_reach_the_loss) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    on_each(DType::bf16, [bad](const Implementation& on) {
      const OneChannelClassifier run(on, {bad, 1}, padded_rows({1, 2, 3, 4, 5}), {0, 1});
      BOOST_TEST(!std::isfinite(run.sums.loss), on.name);
    });
  }
}

BOOST_AUTO_TEST_CASE(huge_attention_scores) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    on_each(dtype, [dtype](const Implementation& on) {
      const BatchShape shape{1, 70};
      constexpr std::int64_t channels = 64;
      // Scores of about +-1e4 before the scale of 1/4.
      Typed qkv(dtype, random_values(shape.tokens() * 3 * channels, 1, 50));
      Typed out(dtype, random_values(shape.tokens() * channels, 2));
      Typed dout(dtype, random_values(shape.tokens() * channels, 3));
      Typed dqkv(dtype, random_values(shape.tokens() * 3 * channels, 4));
      std::vector<float> lse(280);  // [1, 4, 70]
      on.ops->attention_forward(on.compute(), shape, 4, qkv.matrix(70, 3 * channels),
                                out.matrix(70, channels), lse.data());
      on.ops->attention_backward(on.compute(), shape, 4, qkv.matrix(70, 3 * channels),
                                 out.matrix(70, channels), lse.data(), dout.matrix(70, channels),
                                 dqkv.matrix(70, 3 * channels));
      on.compute().synchronize();
      BOOST_TEST(all_finite(out.values()), on.name);
      BOOST_TEST(all_finite(dqkv.values()), on.name);
      BOOST_TEST(all_finite({lse.begin(), lse.end()}), on.name);
    });
  }
}

BOOST_AUTO_TEST_CASE(saturated_gelu) {
  on_each(DType::f32, [](const Implementation& on) {
    const std::vector<double> points{-1e30, -1e13, -100, -20, -6, -1e-20, 0, 1e-20, 6, 20, 100, 1e13, 1e30};
    const auto count = static_cast<std::int64_t>(points.size());
    Typed pre(DType::f32, points);
    Typed dout(DType::f32, std::vector<double>(points.size(), 1.0));
    Typed dpre(DType::f32, points);
    on.ops->gelu_backward(on.compute(), pre.matrix(1, count), dout.matrix(1, count), dpre.matrix(1, count));
    on.compute().synchronize();
    const auto slope = dpre.values();
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double wanted = points[i] <= -6 ? 0.0 : points[i] >= 6 ? 1.0 : 0.5;
      BOOST_TEST(std::abs(slope[i] - wanted) < 1e-6, on.name << " at " << points[i] << ": " << slope[i]);
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace shardgpt::test
