#include "kernels/check_args.hpp"

#include "core/error.hpp"

namespace shardgpt {
namespace {

[[maybe_unused]] bool present(const Matrix& matrix) {
  return matrix.data != nullptr;
}
[[maybe_unused]] bool same_shape(const Matrix& a, const Matrix& b) {
  return a.rows == b.rows && a.cols == b.cols;
}
/// Memory may be missing only where there is nothing in it.
[[maybe_unused]] bool backed(const Matrix& matrix) {
  return present(matrix) || matrix.rows == 0 || matrix.cols == 0;
}

}  // namespace

void check_embedding([[maybe_unused]] BatchShape shape, [[maybe_unused]] const Matrix& wte,
                     [[maybe_unused]] const Matrix& wpe, [[maybe_unused]] const Matrix& out) {
  SHARDGPT_EXPECT(out.rows == shape.tokens());
  SHARDGPT_EXPECT(shape.rows == 0 || shape.seq_len <= wpe.rows);
  SHARDGPT_EXPECT(wte.cols == out.cols && wpe.cols == out.cols);
  SHARDGPT_EXPECT(backed(out) && present(wte) && present(wpe));
}

void check_layer_norm_forward([[maybe_unused]] const Ops::LayerNormForward& args) {
  SHARDGPT_EXPECT(same_shape(args.residual_in, args.out));
  SHARDGPT_EXPECT(!present(args.branch) || same_shape(args.branch, args.out));
  SHARDGPT_EXPECT(!present(args.residual_out) || same_shape(args.residual_out, args.out));
  SHARDGPT_EXPECT(!present(args.branch) || present(args.residual_out));
  SHARDGPT_EXPECT(backed(args.residual_in) && backed(args.out));
}

void check_layer_norm_backward([[maybe_unused]] const Ops::LayerNormBackward& args) {
  SHARDGPT_EXPECT(same_shape(args.dout, args.input));
  SHARDGPT_EXPECT(same_shape(args.dout, args.dresidual_out));
  SHARDGPT_EXPECT(!present(args.dresidual_in) || same_shape(args.dresidual_in, args.dout));
  SHARDGPT_EXPECT(backed(args.dout) && backed(args.input) && backed(args.dresidual_out));
}

void check_linear([[maybe_unused]] const Matrix& in, [[maybe_unused]] const Matrix& weight,
                  [[maybe_unused]] const Matrix& out) {
  SHARDGPT_EXPECT(in.rows == out.rows && in.cols == weight.rows && weight.cols == out.cols);
  SHARDGPT_EXPECT(backed(in) && present(weight) && backed(out));
}

void check_linear_backward([[maybe_unused]] const Ops::LinearBackward& args) {
  check_linear(args.in, args.weight, args.dout);
  SHARDGPT_EXPECT(!present(args.din) || same_shape(args.din, args.in));
  SHARDGPT_EXPECT(args.dweight != nullptr && args.dbias != nullptr);
}

void check_same_shape([[maybe_unused]] const Matrix& a, [[maybe_unused]] const Matrix& b) {
  SHARDGPT_EXPECT(same_shape(a, b));
}

void check_attention([[maybe_unused]] BatchShape shape, [[maybe_unused]] std::int64_t heads,
                     [[maybe_unused]] const Matrix& qkv, [[maybe_unused]] const Matrix& out) {
  SHARDGPT_EXPECT(qkv.rows == shape.tokens() && out.rows == shape.tokens());
  SHARDGPT_EXPECT(qkv.cols == 3 * out.cols && heads > 0 && out.cols % heads == 0);
  SHARDGPT_EXPECT(backed(qkv) && backed(out));
}

void check_classifier([[maybe_unused]] const Ops::Classifier& args) {
  SHARDGPT_EXPECT(args.in.cols == args.wte.cols && args.vocab > 0 && args.vocab <= args.wte.rows);
  SHARDGPT_EXPECT(!present(args.din) || same_shape(args.din, args.in));
  SHARDGPT_EXPECT(args.sums != nullptr && backed(args.in));
}

}  // namespace shardgpt
