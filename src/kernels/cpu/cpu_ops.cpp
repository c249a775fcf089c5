#include "kernels/cpu/cpu_ops.hpp"

#include <stdexcept>

#include "device/host/host_device.hpp"
#include "kernels/check_args.hpp"
#include "kernels/cpu/attention_ops.hpp"
#include "kernels/cpu/classifier_ops.hpp"
#include "kernels/cpu/matrix_ops.hpp"
#include "kernels/cpu/optimizer_ops.hpp"
#include "kernels/cpu/row_ops.hpp"
#include "kernels/step_scalars.hpp"

namespace shardgpt {
namespace cpu {
namespace {

/// Hands each operation, as one task of the compute stream, to the function for element type T: float, or
/// bf16 as its bits.
template <class T>
class CpuOps final : public Ops {
 public:
  CpuOps(Device& device, DType dtype, const OpsLimits& limits, const CpuOptions& options)
      : context_(device, dtype, limits, options) {}

  [[nodiscard]] DType dtype() const override { return context_.dtype; }

  void embedding_forward(Stream& stream, BatchShape shape, const std::int32_t* tokens, Matrix wte, Matrix wpe,
                         Matrix out) override {
    check_embedding(shape, wte, wpe, out);
    submit(stream, [=, this] {
      cpu::embedding_forward<T>(context_, shape, tokens, out.cols, elements<T>(wte), elements<T>(wpe),
                                elements<T>(out));
    });
  }
  void embedding_backward(Stream& stream, BatchShape shape, const std::int32_t* tokens, Matrix dout,
                          float* dwte, float* dwpe) override {
    submit(stream, [=, this] {
      cpu::embedding_backward<T>(context_, shape, tokens, dout.cols, elements<T>(dout), dwte, dwpe);
    });
  }

  void layer_norm_forward(Stream& stream, const LayerNormForward& args) override {
    check_layer_norm_forward(args);
    submit(stream, [this, args] { cpu::layer_norm_forward<T>(context_, args); });
  }
  void layer_norm_backward(Stream& stream, const LayerNormBackward& args) override {
    check_layer_norm_backward(args);
    submit(stream, [this, args] { cpu::layer_norm_backward<T>(context_, args); });
  }

  void linear_forward(Stream& stream, Matrix in, Matrix weight, const void* bias, Matrix out) override {
    check_linear(in, weight, out);
    submit(stream, [=, this] { cpu::linear_forward(context_, in, weight, bias, out); });
  }
  void linear_gelu_forward(Stream& stream, Matrix in, Matrix weight, const void* bias, Matrix pre,
                           Matrix out) override {
    check_linear(in, weight, pre);
    check_same_shape(pre, out);
    submit(stream, [=, this] {
      cpu::linear_forward(context_, in, weight, bias, pre);
      cpu::gelu_forward<T>(context_, pre.rows * pre.cols, elements<T>(pre), elements<T>(out));
    });
  }
  void linear_backward(Stream& stream, const LinearBackward& args) override {
    check_linear_backward(args);
    submit(stream, [this, args] { cpu::linear_backward<T>(context_, args); });
  }
  void gelu_backward(Stream& stream, Matrix pre, Matrix dout, Matrix dpre) override {
    check_same_shape(pre, dout);
    check_same_shape(pre, dpre);
    submit(stream, [=, this] {
      cpu::gelu_backward<T>(context_, pre.rows * pre.cols, elements<T>(pre), elements<T>(dout),
                            elements<T>(dpre));
    });
  }

  void attention_forward(Stream& stream, BatchShape shape, std::int64_t heads, Matrix qkv, Matrix out,
                         float* lse) override {
    check_attention(shape, heads, qkv, out);
    submit(stream, [=, this] { cpu::attention_forward<T>(context_, shape, heads, qkv, out, lse); });
  }
  void attention_backward(Stream& stream, BatchShape shape, std::int64_t heads, Matrix qkv, Matrix out,
                          const float* lse, Matrix dout, Matrix dqkv) override {
    check_attention(shape, heads, qkv, out);
    check_same_shape(out, dout);
    check_same_shape(qkv, dqkv);
    submit(stream,
           [=, this] { cpu::attention_backward<T>(context_, shape, heads, qkv, out, lse, dout, dqkv); });
  }

  void classifier(Stream& stream, const Classifier& args) override {
    check_classifier(args);
    submit(stream, [this, args] { cpu::classifier<T>(context_, args); });
  }
  void logits(Stream& stream, Matrix in, Matrix wte, std::int64_t vocab, float* logits) override {
    submit(stream, [=, this] { multiply_logits(context_, in.rows, vocab, in.data, wte, logits); });
  }

  void norm_squared(Stream& stream, const float* values, std::int64_t count, double* out) override {
    submit(stream, [=, this] { *out = cpu::norm_squared(context_, values, count); });
  }
  void sum_norms(Stream& stream, const double* parts, std::int64_t count, StepSums* sums) override {
    submit(stream, [=] { add_norm_parts(parts, count, *sums); });
  }
  void finish_step(Stream& stream, const StepSums* reduced, double clip, StepScalars* scalars) override {
    submit(stream, [=] { update_step_scalars(*reduced, clip, *scalars); });
  }
  void adamw(Stream& stream, const AdamWPiece& piece, const StepScalars* scalars) override {
    submit(stream, [=, this] { cpu::adamw(context_, piece, *scalars); });
  }

 private:
  CpuContext context_;
};

}  // namespace

std::unique_ptr<Ops> make_ops(Device& device, DType dtype, const OpsLimits& limits,
                              const CpuOptions& options) {
  if (device.kind() != DeviceKind::cpu) {
    throw std::logic_error("the CPU operations run on host devices only");
  }
  if (dtype == DType::f32) {
    return std::make_unique<CpuOps<float>>(device, dtype, limits, options);
  }
  if (dtype == DType::bf16) {
    return std::make_unique<CpuOps<std::uint16_t>>(device, dtype, limits, options);
  }
  throw std::logic_error("operations on a type that holds no real numbers");
}

}  // namespace cpu

std::unique_ptr<Ops> make_cpu_ops(Device& device, DType dtype, const OpsLimits& limits) {
  return cpu::make_ops(device, dtype, limits, {});
}

}  // namespace shardgpt
