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
  for (const Implementation& one : tested_implementations(dtype, limits)) {
    check(one);
  }
}

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

/// Eight channels, the fewest that every implementation serves, of which only the first is not zero.
constexpr std::int64_t channels = 8;
std::vector<double> in_first_channel(const std::vector<double>& values, std::size_t rows) {
  std::vector<double> result(rows * channels);
  for (std::size_t row = 0; row < values.size(); ++row) {
    result[row * channels] = values[row];
  }
  return result;
}
std::vector<double> first_channel(const std::vector<double>& values) {
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); i += channels) {
    result.push_back(values[i]);
  }
  return result;
}

/// What a classifier computes whose logits are features of one channel times rows of one channel.
struct OneChannelClassifier {
  StepSums sums;
  std::vector<double> din;   ///< of the first channel
  std::vector<double> dwte;  ///< likewise

  OneChannelClassifier(const Implementation& on, const std::vector<double>& features,
                       const std::vector<double>& rows, const std::vector<std::int32_t>& host_targets) {
    constexpr std::int64_t padded_vocab = 16;
    const auto count = static_cast<std::int64_t>(host_targets.size());
    const Typed in(on, in_first_channel(features, features.size()));
    const Typed wte(on, in_first_channel(rows, padded_vocab));
    const Typed din_on_device(on, in_first_channel(features, features.size()));
    const OnDevice<float> dwte_on_device(on, std::vector<float>(padded_vocab * channels));
    const OnDevice<std::int32_t> targets(on, host_targets);
    const OnDevice<StepSums> sums_on_device(on, {StepSums{}});
    on.ops->classifier(on.compute(), {.in = in.matrix(count, channels),
                                      .wte = wte.matrix(padded_vocab, channels),
                                      .vocab = 5,
                                      .targets = targets.data(),
                                      .sums = sums_on_device.data(),
                                      .din = din_on_device.matrix(count, channels),
                                      .dwte = dwte_on_device.data()});
    sums = sums_on_device.read().front();
    din = first_channel(din_on_device.values());
    const std::vector<float> floats = dwte_on_device.read();
    dwte = first_channel({floats.begin(), floats.end()});
  }
};

BOOST_AUTO_TEST_SUITE(extremes)

BOOST_AUTO_TEST_CASE(huge_logits) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    on_each(dtype, [](const Implementation& on) {
      // Logits 8192, -8192, 0, 4096, -4096 and their negatives: the softmax is one-hot.
      const OneChannelClassifier run(on, {64, -64}, {128, -128, 0, 64, -64}, {0, 0});
      BOOST_TEST(run.sums.loss == 16384.0, on.name);
      BOOST_TEST(run.sums.targets == 2.0);
      BOOST_TEST(all_finite(run.din));
      BOOST_TEST(run.din[0] == 0.0);
      BOOST_TEST(run.din[1] == -256.0, on.name);
    });
  }
}

BOOST_AUTO_TEST_CASE(padding_takes_no_part) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    on_each(dtype, [](const Implementation& on) {
      // Equal logits: the loss is ln 5 only if the 11 padding columns have no probability.
      const OneChannelClassifier run(on, {1, 1}, {}, {2, -100});
      BOOST_TEST(std::abs(run.sums.loss - std::log(5.0)) < 1e-6, on.name << ' ' << run.sums.loss);
      BOOST_TEST(run.sums.targets == 1.0);
      for (std::size_t row = 5; row < 16; ++row) {
        BOOST_TEST(run.dwte[row] == 0.0, on.name);
      }
      BOOST_TEST(std::abs(run.dwte[2] + 0.8) < 4e-3);
    });
  }
}

BOOST_AUTO_TEST_CASE(non_finite_features_reach_the_loss) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    on_each(DType::bf16, [bad](const Implementation& on) {
      const OneChannelClassifier run(on, {bad, 1}, {1, 2, 3, 4, 5}, {0, 1});
      BOOST_TEST(!std::isfinite(run.sums.loss), on.name);
    });
  }
}

BOOST_AUTO_TEST_CASE(huge_attention_scores) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    on_each(dtype, [](const Implementation& on) {
      const BatchShape shape{1, 70};
      constexpr std::int64_t width = 64;
      // Scores of about +-1e4 before the scale of 1/4.
      const Typed qkv(on, random_values(shape.tokens() * 3 * width, 1, 50));
      const Typed out(on, random_values(shape.tokens() * width, 2));
      const Typed dout(on, random_values(shape.tokens() * width, 3));
      const Typed dqkv(on, random_values(shape.tokens() * 3 * width, 4));
      const OnDevice<float> lse(on, std::vector<float>(280));  // [1, 4, 70]
      on.ops->attention_forward(on.compute(), shape, 4, qkv.matrix(70, 3 * width), out.matrix(70, width),
                                lse.data());
      on.ops->attention_backward(on.compute(), shape, 4, qkv.matrix(70, 3 * width), out.matrix(70, width),
                                 lse.data(), dout.matrix(70, width), dqkv.matrix(70, 3 * width));
      const std::vector<float> host_lse = lse.read();
      BOOST_TEST(all_finite(out.values()), on.name);
      BOOST_TEST(all_finite(dqkv.values()), on.name);
      BOOST_TEST(all_finite({host_lse.begin(), host_lse.end()}), on.name);
    });
  }
}

BOOST_AUTO_TEST_CASE(saturated_gelu) {
  on_each(DType::f32, [](const Implementation& on) {
    const std::vector<double> points{-1e30, -1e13, -100, -20, -6, -1e-20, 0, 1e-20, 6, 20, 100, 1e13, 1e30};
    const auto count = static_cast<std::int64_t>(points.size());
    const Typed pre(on, points);
    const Typed dout(on, std::vector<double>(points.size(), 1.0));
    const Typed dpre(on, points);
    on.ops->gelu_backward(on.compute(), pre.matrix(1, count), dout.matrix(1, count), dpre.matrix(1, count));
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
