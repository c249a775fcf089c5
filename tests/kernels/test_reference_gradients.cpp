// The backward half of every reference kernel, in double, against central differences of its forward half.
#include <functional>
#include <numeric>

#include <boost/test/unit_test.hpp>

#include "kernels/reference/attention.hpp"
#include "kernels/reference/classifier.hpp"
#include "kernels/reference/embedding.hpp"
#include "kernels/reference/layer_norm.hpp"
#include "kernels/reference/linear.hpp"
#include "random_values.hpp"

namespace shardgpt::test {
namespace {

using Values = std::vector<double>;

Values zeros(std::int64_t count) {
  return Values(static_cast<std::size_t>(count));
}

double inner_product(const Values& a, const Values& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Compares `gradient` with the central differences of `loss`, which reads `values`.
void check_gradient(const char* what, Values& values, const Values& gradient,
                    const std::function<double()>& loss) {
  constexpr double step = 1e-4;
  Values differences = zeros(static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double saved = values[i];
    values[i] = saved + step;
    const double above = loss();
    values[i] = saved - step;
    const double below = loss();
    values[i] = saved;
    differences[i] = (above - below) / (2 * step);
  }
  BOOST_TEST(relative_difference(gradient, differences) < 1e-6, what << " differs");
}

BOOST_AUTO_TEST_SUITE(reference_gradients)

BOOST_AUTO_TEST_CASE(embedding) {
  const BatchShape shape{2, 5};
  const std::int64_t channels = 3;
  const auto tokens = random_tokens(shape.tokens(), 7, 1);
  Values wte = random_values(7 * channels, 2);
  Values wpe = random_values(6 * channels, 3);
  const Values dout = random_values(shape.tokens() * channels, 4);
  Values dwte = zeros(7 * channels);
  Values dwpe = zeros(6 * channels);
  reference::embedding_backward(shape, tokens.data(), channels, dout.data(), dwte.data(), dwpe.data());
  const auto loss = [&] {
    Values out = zeros(shape.tokens() * channels);
    reference::embedding_forward(shape, tokens.data(), channels, wte.data(), wpe.data(), out.data());
    return inner_product(out, dout);
  };
  check_gradient("dwte", wte, dwte, loss);
  check_gradient("dwpe", wpe, dwpe, loss);
}

BOOST_AUTO_TEST_CASE(layer_norm_with_residual) {
  const std::int64_t rows = 4;
  const std::int64_t channels = 7;
  Values residual_in = random_values(rows * channels, 1);
  Values branch = random_values(rows * channels, 2);
  Values weight = random_values(channels, 3);
  Values bias = random_values(channels, 4);
  const Values dout = random_values(rows * channels, 5);
  const Values dresidual = random_values(rows * channels, 6);  // of residual_out, by the residual path
  Values input = zeros(rows * channels);
  Values out = input;
  Values mean = zeros(rows);
  Values rstd = zeros(rows);
  const auto loss = [&] {
    reference::layer_norm_forward(rows, channels, residual_in.data(), branch.data(), input.data(),
                                  weight.data(), bias.data(), out.data(), mean.data(), rstd.data(), 1e-5);
    return inner_product(out, dout) + inner_product(input, dresidual);
  };
  (void)loss();
  Values dinput = input;
  Values dweight = random_values(channels, 7);
  Values dbias = random_values(channels, 8);
  reference::layer_norm_backward(rows, channels, dout.data(), input.data(), weight.data(), mean.data(),
                                 rstd.data(), dresidual.data(), dinput.data(), dweight.data(), dbias.data(),
                                 Write::overwrite);
  check_gradient("dresidual", residual_in, dinput, loss);
  check_gradient("dbranch", branch, dinput, loss);
  check_gradient("dweight", weight, dweight, loss);
  check_gradient("dbias", bias, dbias, loss);
}

BOOST_AUTO_TEST_CASE(linear_and_gelu) {
  const std::int64_t rows = 3;
  const std::int64_t inner = 4;
  const std::int64_t cols = 5;
  Values in = random_values(rows * inner, 1);
  Values weight = random_values(inner * cols, 2);
  Values bias = random_values(cols, 3);
  const Values dout = random_values(rows * cols, 4);
  Values pre = zeros(rows * cols);
  const auto loss = [&] {
    Values out = zeros(rows * cols);
    reference::linear_forward(rows, inner, cols, in.data(), weight.data(), bias.data(), pre.data());
    reference::gelu_forward(rows * cols, pre.data(), out.data());
    return inner_product(out, dout);
  };
  (void)loss();
  Values dpre = zeros(rows * cols);
  Values din = zeros(rows * inner);
  Values dweight = zeros(inner * cols);
  Values dbias = zeros(cols);
  reference::gelu_backward(rows * cols, pre.data(), dout.data(), dpre.data());
  reference::linear_backward_input(rows, inner, cols, weight.data(), dpre.data(), din.data());
  reference::linear_backward_weight(rows, inner, cols, in.data(), dpre.data(), dweight.data(), dbias.data(),
                                    Write::overwrite);
  check_gradient("din", in, din, loss);
  check_gradient("dweight", weight, dweight, loss);
  check_gradient("dbias", bias, dbias, loss);
}

BOOST_AUTO_TEST_CASE(attention) {
  const BatchShape shape{2, 5};
  const std::int64_t heads = 2;
  const std::int64_t channels = 6;
  Values qkv = random_values(shape.tokens() * 3 * channels, 1);
  const Values dout = random_values(shape.tokens() * channels, 2);
  Values out = zeros(shape.tokens() * channels);
  Values lse = zeros(shape.rows * heads * shape.seq_len);
  const auto loss = [&] {
    reference::attention_forward(shape, heads, channels, qkv.data(), out.data(), lse.data());
    return inner_product(out, dout);
  };
  (void)loss();
  Values dqkv = qkv;
  reference::attention_backward(shape, heads, channels, qkv.data(), out.data(), lse.data(), dout.data(),
                                dqkv.data());
  check_gradient("dqkv", qkv, dqkv, loss);
}

BOOST_AUTO_TEST_CASE(classifier) {
  const std::int64_t rows = 4;
  const std::int64_t channels = 3;
  const std::int64_t vocab = 6;
  Values in = random_values(rows * channels, 1);
  Values wte = random_values(vocab * channels, 2);
  const std::vector<std::int32_t> targets{5, -100, 0, 2};
  StepSums sums;
  Values din = zeros(rows * channels);
  Values dwte = zeros(vocab * channels);
  reference::classifier(rows, channels, in.data(), wte.data(), vocab, targets.data(), &sums, din.data(),
                        dwte.data());
  BOOST_TEST(sums.targets == 3.0);
  const auto loss = [&] {
    StepSums again;
    reference::classifier<double>(rows, channels, in.data(), wte.data(), vocab, targets.data(), &again,
                                  nullptr, nullptr);
    return again.loss;
  };
  BOOST_TEST(loss() == sums.loss);
  check_gradient("din", in, din, loss);
  check_gradient("dwte", wte, dwte, loss);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace shardgpt::test
