#include <cmath>
#include <memory>
#include <stdexcept>

#include "device/host/host_device.hpp"
#include "kernels/check_args.hpp"
#include "kernels/ops.hpp"
#include "kernels/reference/adamw.hpp"
#include "kernels/reference/attention.hpp"
#include "kernels/reference/classifier.hpp"
#include "kernels/reference/embedding.hpp"
#include "kernels/reference/layer_norm.hpp"
#include "kernels/reference/linear.hpp"
#include "kernels/step_scalars.hpp"

namespace shardgpt {
namespace {

/// Hands each operation, as one task, to the template for storage type T.
template <class T>
class ReferenceOps final : public Ops {
 public:
  [[nodiscard]] DType dtype() const override { return DTypeOf<T>::value; }

  void embedding_forward(Stream& stream, BatchShape shape, const std::int32_t* tokens, Matrix wte, Matrix wpe,
                         Matrix out) override {
    check_embedding(shape, wte, wpe, out);
    submit(stream,
           [=] { reference::embedding_forward(shape, tokens, out.cols, in(wte), in(wpe), result(out)); });
  }
  void embedding_backward(Stream& stream, BatchShape shape, const std::int32_t* tokens, Matrix dout,
                          float* dwte, float* dwpe) override {
    submit(stream, [=] { reference::embedding_backward(shape, tokens, dout.cols, in(dout), dwte, dwpe); });
  }

  void layer_norm_forward(Stream& stream, const LayerNormForward& a) override {
    check_layer_norm_forward(a);
    submit(stream, [a] {
      reference::layer_norm_forward(a.out.rows, a.out.cols, in(a.residual_in), in(a.branch),
                                    result(a.residual_out), vector(a.weight), vector(a.bias), result(a.out),
                                    a.mean, a.rstd, a.epsilon);
    });
  }
  void layer_norm_backward(Stream& stream, const LayerNormBackward& a) override {
    check_layer_norm_backward(a);
    submit(stream, [a] {
      reference::layer_norm_backward(a.dout.rows, a.dout.cols, in(a.dout), in(a.input), vector(a.weight),
                                     a.mean, a.rstd, in(a.dresidual_in), result(a.dresidual_out), a.dweight,
                                     a.dbias, a.write);
    });
  }

  void linear_forward(Stream& stream, Matrix input, Matrix weight, const void* bias, Matrix out) override {
    check_linear(input, weight, out);
    submit(stream, [=] {
      reference::linear_forward(input.rows, weight.rows, weight.cols, in(input), in(weight), vector(bias),
                                result(out));
    });
  }
  void linear_gelu_forward(Stream& stream, Matrix input, Matrix weight, const void* bias, Matrix pre,
                           Matrix out) override {
    check_same_shape(pre, out);
    linear_forward(stream, input, weight, bias, pre);
    submit(stream, [=] { reference::gelu_forward(size(pre), in(pre), result(out)); });
  }
  void linear_backward(Stream& stream, const LinearBackward& a) override {
    check_linear_backward(a);
    submit(stream, [a] {
      if (a.din.data != nullptr) {
        reference::linear_backward_input(a.in.rows, a.weight.rows, a.weight.cols, in(a.weight), in(a.dout),
                                         result(a.din));
      }
      reference::linear_backward_weight(a.in.rows, a.weight.rows, a.weight.cols, in(a.in), in(a.dout),
                                        a.dweight, a.dbias, a.write);
    });
  }
  void gelu_backward(Stream& stream, Matrix pre, Matrix dout, Matrix dpre) override {
    check_same_shape(pre, dout);
    check_same_shape(pre, dpre);
    submit(stream, [=] { reference::gelu_backward(size(pre), in(pre), in(dout), result(dpre)); });
  }

  void attention_forward(Stream& stream, BatchShape shape, std::int64_t heads, Matrix qkv, Matrix out,
                         float* lse) override {
    check_attention(shape, heads, qkv, out);
    submit(stream, [=] { reference::attention_forward(shape, heads, out.cols, in(qkv), result(out), lse); });
  }
  void attention_backward(Stream& stream, BatchShape shape, std::int64_t heads, Matrix qkv, Matrix out,
                          const float* lse, Matrix dout, Matrix dqkv) override {
    check_attention(shape, heads, qkv, out);
    check_same_shape(out, dout);
    check_same_shape(qkv, dqkv);
    submit(stream, [=] {
      reference::attention_backward(shape, heads, out.cols, in(qkv), in(out), lse, in(dout), result(dqkv));
    });
  }

  void classifier(Stream& stream, const Classifier& a) override {
    check_classifier(a);
    submit(stream, [a] {
      reference::classifier(a.in.rows, a.in.cols, in(a.in), in(a.wte), a.vocab, a.targets, a.sums,
                            result(a.din), a.dwte);
    });
  }
  void logits(Stream& stream, Matrix input, Matrix wte, std::int64_t vocab, float* logits) override {
    submit(stream, [=] { reference::logits(input.rows, input.cols, in(input), in(wte), vocab, logits); });
  }

  void norm_squared(Stream& stream, const float* values, std::int64_t count, double* out) override {
    submit(stream, [=] { *out = reference::dot(values, values, count); });
  }
  void sum_norms(Stream& stream, const double* parts, std::int64_t count, StepSums* sums) override {
    submit(stream, [=] { add_norm_parts(parts, count, *sums); });
  }
  void finish_step(Stream& stream, const StepSums* reduced, double clip, StepScalars* scalars) override {
    submit(stream, [=] { update_step_scalars(*reduced, clip, *scalars); });
  }
  void adamw(Stream& stream, const AdamWPiece& piece, const StepScalars* scalars) override {
    submit(stream, [=] { reference::adamw(piece, *scalars); });
  }

 private:
  static const T* in(const Matrix& matrix) { return static_cast<const T*>(matrix.data); }
  static T* result(const Matrix& matrix) { return static_cast<T*>(matrix.data); }
  static const T* vector(const void* data) { return static_cast<const T*>(data); }
  static std::int64_t size(const Matrix& matrix) { return matrix.rows * matrix.cols; }
};

}  // namespace

std::unique_ptr<Ops> make_reference_ops(Device& device, DType dtype, const OpsLimits& /*limits*/) {
  if (device.kind() != DeviceKind::cpu) {
    throw std::logic_error("the reference operations run on host devices only");
  }
  if (dtype == DType::f32) {
    return std::make_unique<ReferenceOps<float>>();
  }
  if (dtype == DType::bf16) {
    return std::make_unique<ReferenceOps<bf16>>();
  }
  throw std::logic_error("operations on a type that holds no real numbers");
}

}  // namespace shardgpt
