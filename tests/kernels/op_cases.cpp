#include "op_cases.hpp"

#include <algorithm>
#include <cmath>

#include "tokens/batch.hpp"

namespace shardgpt::test {
namespace {

Result result(const char* name, const Typed& values) {
  return {name, values.values(), false};
}
Result wide(const char* name, const OnDevice<float>& device_values) {
  const std::vector<float> values = device_values.read();
  return {name, {values.begin(), values.end()}, true};
}
Result result(const char* name, const OnDevice<StepSums>& sums) {
  const StepSums values = sums.read().front();
  return {name, {values.loss, values.targets}, true};
}

OnDevice<float> floats(const Implementation& on, std::int64_t count, std::uint32_t stream) {
  const auto values = random_values(count, stream);
  return {on, {values.begin(), values.end()}};
}

Typed random_typed(const Implementation& on, std::int64_t count, std::uint32_t stream, double scale = 1.0) {
  return {on, random_values(count, stream, scale)};
}

std::vector<Result> embedding(const Implementation& on, const CaseSizes& s) {
  const OnDevice<std::int32_t> tokens(on, random_tokens(s.tokens(), s.vocab, 1));
  const Typed wte = random_typed(on, s.padded_vocab * s.channels, 2);
  const Typed wpe = random_typed(on, (s.shape.seq_len + 1) * s.channels, 3);
  const Typed out = random_typed(on, s.tokens() * s.channels, 4);
  const Typed dout = random_typed(on, s.tokens() * s.channels, 5);
  const OnDevice<float> dwte = floats(on, s.padded_vocab * s.channels, 6);
  const OnDevice<float> dwpe = floats(on, (s.shape.seq_len + 1) * s.channels, 7);
  on.ops->embedding_forward(on.compute(), s.shape, tokens.data(), wte.matrix(s.padded_vocab, s.channels),
                            wpe.matrix(s.shape.seq_len + 1, s.channels), out.matrix(s.tokens(), s.channels));
  on.ops->embedding_backward(on.compute(), s.shape, tokens.data(), dout.matrix(s.tokens(), s.channels),
                             dwte.data(), dwpe.data());
  on.compute().synchronize();
  return {result("out", out), wide("dwte", dwte), wide("dwpe", dwpe)};
}

/// `in_place`: the residual sums overwrite what they read, and gradients accumulate.
std::vector<Result> layer_norm(const Implementation& on, const CaseSizes& s, bool in_place) {
  const std::int64_t rows = s.tokens();
  const std::int64_t size = rows * s.channels;
  const Typed residual_in = random_typed(on, size, 1);
  const Typed branch = random_typed(on, size, 2);
  const Typed sum = random_typed(on, size, 3);
  const Typed weight = random_typed(on, s.channels, 4);
  const Typed bias = random_typed(on, s.channels, 5);
  const Typed out = random_typed(on, size, 6);
  const Typed dout = random_typed(on, size, 7);
  const Typed dresidual = random_typed(on, size, 8);
  const Typed dsum = random_typed(on, size, 9);
  const OnDevice<float> mean = floats(on, rows, 10);
  const OnDevice<float> rstd = floats(on, rows, 11);
  const OnDevice<float> dweight = floats(on, s.channels, 12);
  const OnDevice<float> dbias = floats(on, s.channels, 13);
  const Typed& input = in_place ? residual_in : sum;
  Ops::LayerNormForward forward;
  forward.residual_in = residual_in.matrix(rows, s.channels);
  forward.branch = branch.matrix(rows, s.channels);
  forward.residual_out = input.matrix(rows, s.channels);
  forward.weight = weight.data();
  forward.bias = bias.data();
  forward.out = out.matrix(rows, s.channels);
  forward.mean = mean.data();
  forward.rstd = rstd.data();
  on.ops->layer_norm_forward(on.compute(), forward);
  Ops::LayerNormBackward backward;
  backward.dout = dout.matrix(rows, s.channels);
  backward.input = input.matrix(rows, s.channels);
  backward.weight = weight.data();
  backward.mean = mean.data();
  backward.rstd = rstd.data();
  backward.dresidual_in = dresidual.matrix(rows, s.channels);
  backward.dresidual_out = (in_place ? dresidual : dsum).matrix(rows, s.channels);
  backward.dweight = dweight.data();
  backward.dbias = dbias.data();
  backward.write = in_place ? Write::accumulate : Write::overwrite;
  on.ops->layer_norm_backward(on.compute(), backward);
  on.compute().synchronize();
  return {result("residual", input),
          result("out", out),
          wide("mean", mean),
          wide("rstd", rstd),
          result("dresidual", in_place ? dresidual : dsum),
          wide("dweight", dweight),
          wide("dbias", dbias)};
}

std::vector<Result> layer_norm_in_place(const Implementation& on, const CaseSizes& s) {
  return layer_norm(on, s, true);
}

std::vector<Result> layer_norm_apart(const Implementation& on, const CaseSizes& s) {
  return layer_norm(on, s, false);
}

/// The first layer norm of a model: nothing to add, nothing arrives beside its own gradient.
std::vector<Result> layer_norm_alone(const Implementation& on, const CaseSizes& s) {
  const std::int64_t rows = s.tokens();
  const Typed input = random_typed(on, rows * s.channels, 1);
  const Typed weight = random_typed(on, s.channels, 2);
  const Typed bias = random_typed(on, s.channels, 3);
  const Typed out = random_typed(on, rows * s.channels, 4);
  const Typed dout = random_typed(on, rows * s.channels, 5);
  const Typed dinput = random_typed(on, rows * s.channels, 6);
  const OnDevice<float> mean = floats(on, rows, 7);
  const OnDevice<float> rstd = floats(on, rows, 8);
  const OnDevice<float> dweight = floats(on, s.channels, 9);
  const OnDevice<float> dbias = floats(on, s.channels, 10);
  on.ops->layer_norm_forward(on.compute(), {.residual_in = input.matrix(rows, s.channels),
                                            .branch = {},
                                            .residual_out = {},
                                            .weight = weight.data(),
                                            .bias = bias.data(),
                                            .out = out.matrix(rows, s.channels),
                                            .mean = mean.data(),
                                            .rstd = rstd.data(),
                                            .epsilon = 1e-3});
  on.ops->layer_norm_backward(on.compute(), {.dout = dout.matrix(rows, s.channels),
                                             .input = input.matrix(rows, s.channels),
                                             .weight = weight.data(),
                                             .mean = mean.data(),
                                             .rstd = rstd.data(),
                                             .dresidual_in = {},
                                             .dresidual_out = dinput.matrix(rows, s.channels),
                                             .dweight = dweight.data(),
                                             .dbias = dbias.data(),
                                             .write = Write::overwrite});
  on.compute().synchronize();
  return {result("out", out),       wide("mean", mean),       wide("rstd", rstd),
          result("dinput", dinput), wide("dweight", dweight), wide("dbias", dbias)};
}

std::vector<Result> linear(const Implementation& on, const CaseSizes& s, Write write) {
  const std::int64_t rows = s.tokens();
  const std::int64_t inner = s.channels;
  const std::int64_t cols = 3 * s.channels + s.extra_columns;
  const Typed in = random_typed(on, rows * inner, 1);
  const Typed weight = random_typed(on, inner * cols, 2);
  const Typed bias = random_typed(on, cols, 3);
  const Typed out = random_typed(on, rows * cols, 4);
  const Typed dout = random_typed(on, rows * cols, 5);
  const Typed din = random_typed(on, rows * inner, 6);
  const OnDevice<float> dweight = floats(on, inner * cols, 7);
  const OnDevice<float> dbias = floats(on, cols, 8);
  on.ops->linear_forward(on.compute(), in.matrix(rows, inner), weight.matrix(inner, cols), bias.data(),
                         out.matrix(rows, cols));
  on.ops->linear_backward(on.compute(), {.in = in.matrix(rows, inner),
                                         .weight = weight.matrix(inner, cols),
                                         .dout = dout.matrix(rows, cols),
                                         .din = din.matrix(rows, inner),
                                         .dweight = dweight.data(),
                                         .dbias = dbias.data(),
                                         .write = write});
  on.compute().synchronize();
  return {result("out", out), result("din", din), wide("dweight", dweight), wide("dbias", dbias)};
}

std::vector<Result> linear_overwrite(const Implementation& on, const CaseSizes& s) {
  return linear(on, s, Write::overwrite);
}

std::vector<Result> linear_accumulate(const Implementation& on, const CaseSizes& s) {
  return linear(on, s, Write::accumulate);
}

std::vector<Result> gelu(const Implementation& on, const CaseSizes& s) {
  const std::int64_t rows = s.tokens();
  const std::int64_t inner = s.channels;
  const std::int64_t cols = 4 * s.channels;
  const Typed in = random_typed(on, rows * inner, 1);
  const Typed weight = random_typed(on, inner * cols, 2, 0.3);
  const Typed bias = random_typed(on, cols, 3);
  const Typed pre = random_typed(on, rows * cols, 4);
  const Typed out = random_typed(on, rows * cols, 5);
  const Typed fixed_pre = random_typed(on, rows * cols, 6, 2.0);
  const Typed dout = random_typed(on, rows * cols, 7);
  const Typed dpre = random_typed(on, rows * cols, 8);
  on.ops->linear_gelu_forward(on.compute(), in.matrix(rows, inner), weight.matrix(inner, cols), bias.data(),
                              pre.matrix(rows, cols), out.matrix(rows, cols));
  on.ops->gelu_backward(on.compute(), fixed_pre.matrix(rows, cols), dout.matrix(rows, cols),
                        dpre.matrix(rows, cols));
  on.ops->gelu_backward(on.compute(), fixed_pre.matrix(rows, cols), dout.matrix(rows, cols),
                        dout.matrix(rows, cols));
  on.compute().synchronize();
  return {result("pre", pre), result("out", out), result("dpre", dpre), result("dpre in place", dout)};
}

std::vector<Result> attention(const Implementation& on, const CaseSizes& s) {
  const std::int64_t rows = s.tokens();
  const Typed qkv = random_typed(on, rows * 3 * s.channels, 1, 1.5);
  const Typed out = random_typed(on, rows * s.channels, 2);
  const Typed dout = random_typed(on, rows * s.channels, 3);
  const Typed dqkv = random_typed(on, rows * 3 * s.channels, 4);
  const OnDevice<float> lse = floats(on, s.shape.rows * s.heads * s.shape.seq_len, 5);
  on.ops->attention_forward(on.compute(), s.shape, s.heads, qkv.matrix(rows, 3 * s.channels),
                            out.matrix(rows, s.channels), lse.data());
  on.ops->attention_backward(on.compute(), s.shape, s.heads, qkv.matrix(rows, 3 * s.channels),
                             out.matrix(rows, s.channels), lse.data(), dout.matrix(rows, s.channels),
                             dqkv.matrix(rows, 3 * s.channels));
  on.compute().synchronize();
  return {result("out", out), wide("lse", lse), result("dqkv", dqkv)};
}

std::vector<Result> classify(const Implementation& on, const CaseSizes& s,
                             const std::vector<std::int32_t>& host_targets) {
  const std::int64_t rows = s.tokens();
  const OnDevice<std::int32_t> targets(on, host_targets);
  const Typed in = random_typed(on, rows * s.channels, 1);
  // Logits of deviation 2 at any width: a softmax that is nearly one-hot would show the rounding of the
  // product.
  const double scale = 2.0 / std::sqrt(static_cast<double>(s.channels));
  auto embedding = random_values(s.padded_vocab * s.channels, 2, scale);
  std::fill(embedding.begin() + s.vocab * s.channels, embedding.end(), 0.0);
  const Typed wte(on, embedding);
  const Typed din = random_typed(on, rows * s.channels, 3);
  const OnDevice<float> dwte = floats(on, s.padded_vocab * s.channels, 4);
  const OnDevice<float> logits = floats(on, rows * s.vocab, 5);
  const StepSums before{.loss = 0.5, .targets = 1, .grad_norm_squared = 0, .signals = {}};
  const OnDevice<StepSums> trained(on, {before});
  const OnDevice<StepSums> evaluated(on, {before});
  Ops::Classifier args{.in = in.matrix(rows, s.channels),
                       .wte = wte.matrix(s.padded_vocab, s.channels),
                       .vocab = s.vocab,
                       .targets = targets.data(),
                       .sums = trained.data(),
                       .din = din.matrix(rows, s.channels),
                       .dwte = dwte.data()};
  on.ops->classifier(on.compute(), args);
  args.sums = evaluated.data();
  args.din = {};
  args.dwte = nullptr;
  on.ops->classifier(on.compute(), args);
  on.ops->logits(on.compute(), in.matrix(rows, s.channels), wte.matrix(s.padded_vocab, s.channels), s.vocab,
                 logits.data());
  on.compute().synchronize();
  return {result("sums", trained), result("sums of evaluation", evaluated), result("din", din),
          wide("dwte", dwte), wide("logits", logits)};
}

std::vector<Result> classifier(const Implementation& on, const CaseSizes& s) {
  auto targets = random_tokens(s.tokens(), s.vocab, 9);
  for (std::size_t i = 0; i < targets.size(); i += 3) {
    targets[i] = no_target;
  }
  return classify(on, s, targets);
}

std::vector<Result> classifier_all_masked(const Implementation& on, const CaseSizes& s) {
  return classify(on, s, std::vector<std::int32_t>(static_cast<std::size_t>(s.tokens()), no_target));
}

}  // namespace

const std::vector<NamedCase>& op_cases() {
  static const std::vector<NamedCase> cases{{"embedding", embedding},
                                            {"layer_norm in place", layer_norm_in_place},
                                            {"layer_norm apart", layer_norm_apart},
                                            {"layer_norm alone", layer_norm_alone},
                                            {"linear overwrite", linear_overwrite},
                                            {"linear accumulate", linear_accumulate},
                                            {"gelu", gelu},
                                            {"attention", attention},
                                            {"classifier", classifier},
                                            {"classifier all masked", classifier_all_masked}};
  return cases;
}

}  // namespace shardgpt::test
