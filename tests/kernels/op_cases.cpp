#include "op_cases.hpp"

#include <algorithm>

#include "tokens/batch.hpp"

namespace shardgpt::test {
namespace {

Result result(const char* name, const Typed& values) {
  return {name, values.values(), false};
}
Result wide(const char* name, const std::vector<float>& values) {
  return {name, {values.begin(), values.end()}, true};
}

std::vector<float> floats(std::int64_t count, std::uint32_t stream) {
  const auto values = random_values(count, stream);
  return {values.begin(), values.end()};
}

Typed random_typed(const Implementation& on, std::int64_t count, std::uint32_t stream, double scale = 1.0) {
  return {on.ops->dtype(), random_values(count, stream, scale)};
}

std::vector<Result> embedding(const Implementation& on, const CaseSizes& s) {
  const auto tokens = random_tokens(s.tokens(), s.vocab, 1);
  Typed wte = random_typed(on, s.padded_vocab * s.channels, 2);
  Typed wpe = random_typed(on, (s.shape.seq_len + 1) * s.channels, 3);
  Typed out = random_typed(on, s.tokens() * s.channels, 4);
  Typed dout = random_typed(on, s.tokens() * s.channels, 5);
  auto dwte = floats(s.padded_vocab * s.channels, 6);
  auto dwpe = floats((s.shape.seq_len + 1) * s.channels, 7);
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
  Typed residual_in = random_typed(on, size, 1);
  Typed branch = random_typed(on, size, 2);
  Typed sum = random_typed(on, size, 3);
  Typed weight = random_typed(on, s.channels, 4);
  Typed bias = random_typed(on, s.channels, 5);
  Typed out = random_typed(on, size, 6);
  Typed dout = random_typed(on, size, 7);
  Typed dresidual = random_typed(on, size, 8);
  Typed dsum = random_typed(on, size, 9);
  std::vector<float> mean = floats(rows, 10);
  std::vector<float> rstd = floats(rows, 11);
  std::vector<float> dweight = floats(s.channels, 12);
  std::vector<float> dbias = floats(s.channels, 13);
  Typed& input = in_place ? residual_in : sum;
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
  Typed input = random_typed(on, rows * s.channels, 1);
  Typed weight = random_typed(on, s.channels, 2);
  Typed bias = random_typed(on, s.channels, 3);
  Typed out = random_typed(on, rows * s.channels, 4);
  Typed dout = random_typed(on, rows * s.channels, 5);
  Typed dinput = random_typed(on, rows * s.channels, 6);
  std::vector<float> mean = floats(rows, 7);
  std::vector<float> rstd = floats(rows, 8);
  std::vector<float> dweight = floats(s.channels, 9);
  std::vector<float> dbias = floats(s.channels, 10);
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
  const std::int64_t cols = 3 * s.channels + 1;
  Typed in = random_typed(on, rows * inner, 1);
  Typed weight = random_typed(on, inner * cols, 2);
  Typed bias = random_typed(on, cols, 3);
  Typed out = random_typed(on, rows * cols, 4);
  Typed dout = random_typed(on, rows * cols, 5);
  Typed din = random_typed(on, rows * inner, 6);
  std::vector<float> dweight = floats(inner * cols, 7);
  std::vector<float> dbias = floats(cols, 8);
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
  Typed in = random_typed(on, rows * inner, 1);
  Typed weight = random_typed(on, inner * cols, 2, 0.3);
  Typed bias = random_typed(on, cols, 3);
  Typed pre = random_typed(on, rows * cols, 4);
  Typed out = random_typed(on, rows * cols, 5);
  Typed fixed_pre = random_typed(on, rows * cols, 6, 2.0);
  Typed dout = random_typed(on, rows * cols, 7);
  Typed dpre = random_typed(on, rows * cols, 8);
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
  Typed qkv = random_typed(on, rows * 3 * s.channels, 1, 1.5);
  Typed out = random_typed(on, rows * s.channels, 2);
  Typed dout = random_typed(on, rows * s.channels, 3);
  Typed dqkv = random_typed(on, rows * 3 * s.channels, 4);
  std::vector<float> lse = floats(s.shape.rows * s.heads * s.shape.seq_len, 5);
  on.ops->attention_forward(on.compute(), s.shape, s.heads, qkv.matrix(rows, 3 * s.channels),
                            out.matrix(rows, s.channels), lse.data());
  on.ops->attention_backward(on.compute(), s.shape, s.heads, qkv.matrix(rows, 3 * s.channels),
                             out.matrix(rows, s.channels), lse.data(), dout.matrix(rows, s.channels),
                             dqkv.matrix(rows, 3 * s.channels));
  on.compute().synchronize();
  return {result("out", out), wide("lse", lse), result("dqkv", dqkv)};
}

std::vector<Result> classify(const Implementation& on, const CaseSizes& s,
                             const std::vector<std::int32_t>& targets) {
  const std::int64_t rows = s.tokens();
  Typed in = random_typed(on, rows * s.channels, 1);
  auto embedding = random_values(s.padded_vocab * s.channels, 2, 0.3);
  std::fill(embedding.begin() + s.vocab * s.channels, embedding.end(), 0.0);
  Typed wte(on.ops->dtype(), embedding);
  Typed din = random_typed(on, rows * s.channels, 3);
  std::vector<float> dwte = floats(s.padded_vocab * s.channels, 4);
  std::vector<float> logits = floats(rows * s.vocab, 5);
  StepSums trained{.loss = 0.5, .targets = 1, .grad_norm_squared = 0, .signals = {}};
  StepSums evaluated = trained;
  Ops::Classifier args{.in = in.matrix(rows, s.channels),
                       .wte = wte.matrix(s.padded_vocab, s.channels),
                       .vocab = s.vocab,
                       .targets = targets.data(),
                       .sums = &trained,
                       .din = din.matrix(rows, s.channels),
                       .dwte = dwte.data()};
  on.ops->classifier(on.compute(), args);
  args.sums = &evaluated;
  args.din = {};
  args.dwte = nullptr;
  on.ops->classifier(on.compute(), args);
  on.ops->logits(on.compute(), in.matrix(rows, s.channels), wte.matrix(s.padded_vocab, s.channels), s.vocab,
                 logits.data());
  on.compute().synchronize();
  return {{"sums", {trained.loss, trained.targets}, true},
          {"sums of evaluation", {evaluated.loss, evaluated.targets}, true},
          result("din", din),
          wide("dwte", dwte),
          wide("logits", logits)};
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
