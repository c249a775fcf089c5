#include "kernels/cuda/cuda_ops.hpp"

#include <stdexcept>
#include <type_traits>

#include <cuda_bf16.h>

#include "core/checked.hpp"
#include "device/cuda/cuda_stream.hpp"
#include "kernels/check_args.hpp"
#include "kernels/cuda/attention_kernels.hpp"
#include "kernels/cuda/classifier_ops.hpp"
#include "kernels/cuda/embedding_backward.hpp"
#include "kernels/cuda/linear_ops.hpp"
#include "kernels/cuda/optimizer_kernels.hpp"
#include "kernels/cuda/row_kernels.hpp"

namespace shardgpt {
namespace cuda {
namespace {

/// Launches each operation's kernels for element type T: float or __nv_bfloat16.
template <class T>
class CudaOps final : public Ops {
 public:
  CudaOps(Device& device, DType dtype, const OpsLimits& limits, const CudaOptions& options)
      : context_(device, dtype, limits, options) {}

  [[nodiscard]] DType dtype() const override { return context_.dtype; }

  void embedding_forward(Stream& stream, BatchShape shape, const std::int32_t* tokens, Matrix wte, Matrix wpe,
                         Matrix out) override {
    check_embedding(shape, wte, wpe, out);
    cuda::embedding_forward(raw_stream(stream), shape, out.cols, tokens, elements<const T>(wte),
                            elements<const T>(wpe), elements<T>(out));
  }
  void embedding_backward(Stream& stream, BatchShape shape, const std::int32_t* tokens, Matrix dout,
                          float* dwte, float* dwpe) override {
    require_room(shape.tokens());
    cuda::embedding_backward(raw_stream(stream), shape, dout.cols, tokens, elements<const T>(dout), dwte,
                             dwpe, context_.embedding.data());
  }

  void layer_norm_forward(Stream& stream, const LayerNormForward& a) override {
    check_layer_norm_forward(a);
    cuda::layer_norm_forward<T>(raw_stream(stream), {.rows = a.out.rows,
                                                     .channels = narrow<int>(a.out.cols),
                                                     .residual_in = elements<const T>(a.residual_in),
                                                     .branch = elements<const T>(a.branch),
                                                     .residual_out = elements<T>(a.residual_out),
                                                     .weight = static_cast<const T*>(a.weight),
                                                     .bias = static_cast<const T*>(a.bias),
                                                     .out = elements<T>(a.out),
                                                     .mean = a.mean,
                                                     .rstd = a.rstd,
                                                     .epsilon = static_cast<float>(a.epsilon)});
  }
  void layer_norm_backward(Stream& stream, const LayerNormBackward& a) override {
    check_layer_norm_backward(a);
    require_room(a.dout.rows, a.dout.cols);
    auto* parts = context_.parts.as<float>();
    cuda::layer_norm_backward<T>(raw_stream(stream), {.rows = a.dout.rows,
                                                      .channels = narrow<int>(a.dout.cols),
                                                      .dout = elements<const T>(a.dout),
                                                      .input = elements<const T>(a.input),
                                                      .weight = static_cast<const T*>(a.weight),
                                                      .mean = a.mean,
                                                      .rstd = a.rstd,
                                                      .dresidual_in = elements<const T>(a.dresidual_in),
                                                      .dresidual_out = elements<T>(a.dresidual_out),
                                                      .parts = parts});
    sum_parts(raw_stream(stream), ceil_div(a.dout.rows, layer_norm_part_rows), parts,
              {.first = a.dweight,
               .first_count = a.dout.cols,
               .second = a.dbias,
               .second_count = a.dout.cols,
               .write = a.write});
  }

  void linear_forward(Stream& stream, Matrix in, Matrix weight, const void* bias, Matrix out) override {
    check_linear(in, weight, out);
    cuda::linear_forward(context_, raw_stream(stream), in, weight, bias, out);
  }
  void linear_gelu_forward(Stream& stream, Matrix in, Matrix weight, const void* bias, Matrix pre,
                           Matrix out) override {
    check_linear(in, weight, pre);
    check_same_shape(pre, out);
    cuda::linear_gelu_forward<T>(context_, raw_stream(stream), in, weight, bias, pre, out);
  }
  void linear_backward(Stream& stream, const LinearBackward& args) override {
    check_linear_backward(args);
    require_room(args.in.rows, ceil_div(args.dout.cols, std::int64_t{4}));
    cuda::linear_backward<T>(context_, raw_stream(stream), args);
  }
  void gelu_backward(Stream& stream, Matrix pre, Matrix dout, Matrix dpre) override {
    check_same_shape(pre, dout);
    check_same_shape(pre, dpre);
    cuda::gelu_backward(raw_stream(stream), pre.rows * pre.cols, elements<const T>(pre),
                        elements<const T>(dout), elements<T>(dpre));
  }

  void attention_forward(Stream& stream, BatchShape shape, std::int64_t heads, Matrix qkv, Matrix out,
                         float* lse) override {
    check_attention(shape, heads, qkv, out);
    const AttentionArgs<T> args = attention_args(shape, heads, qkv, out, lse);
    if constexpr (!std::is_same_v<T, float>) {
      if (tensor_attention_serves(args.head_dim)) {
        tensor_attention_forward(raw_stream(stream), args);
        return;
      }
    }
    plain_attention_forward(raw_stream(stream), args);
  }
  void attention_backward(Stream& stream, BatchShape shape, std::int64_t heads, Matrix qkv, Matrix out,
                          const float* lse, Matrix dout, Matrix dqkv) override {
    check_attention(shape, heads, qkv, out);
    check_same_shape(out, dout);
    check_same_shape(qkv, dqkv);
    require_room(shape.tokens(), out.cols);
    // Read only here; the forward pass writes it through the same struct.
    AttentionArgs<T> args = attention_args(shape, heads, qkv, out, const_cast<float*>(lse));  // NOLINT
    args.dout = elements<const T>(dout);
    args.dqkv = elements<T>(dqkv);
    args.delta = context_.delta.template as<float>();
    if constexpr (!std::is_same_v<T, float>) {
      if (tensor_attention_serves(args.head_dim)) {
        tensor_attention_backward(raw_stream(stream), args);
        return;
      }
    }
    plain_attention_backward(raw_stream(stream), args);
  }

  void classifier(Stream& stream, const Classifier& args) override {
    check_classifier(args);
    require_room_for_logits(args.wte);
    cuda::classifier<T>(context_, raw_stream(stream), args);
  }
  void logits(Stream& stream, Matrix in, Matrix wte, std::int64_t vocab, float* logits) override {
    require_room_for_logits(wte);
    cuda::logits<T>(context_, raw_stream(stream), in, wte, vocab, logits);
  }

  void norm_squared(Stream& stream, const float* values, std::int64_t count, double* out) override {
    cuda::norm_squared(raw_stream(stream), values, count, context_.norms.template as<double>(), out);
  }
  void sum_norms(Stream& stream, const double* parts, std::int64_t count, StepSums* sums) override {
    cuda::sum_norms(raw_stream(stream), parts, count, sums);
  }
  void finish_step(Stream& stream, const StepSums* reduced, double clip, StepScalars* scalars) override {
    cuda::finish_step(raw_stream(stream), reduced, clip, scalars);
  }
  void adamw(Stream& stream, const AdamWPiece& piece, const StepScalars* scalars) override {
    cuda::adamw(raw_stream(stream), piece, scalars);
  }

 private:
  /// Scratch memory is planned for the limits: more would be written past its end.
  void require_room(std::int64_t tokens, std::int64_t channels = 0) const {
    if (tokens > context_.tokens || channels > context_.limits.embd) {
      throw std::logic_error("an operation larger than the limits of its set of CUDA operations");
    }
  }
  void require_room_for_logits(const Matrix& wte) const {
    if (wte.rows > context_.limits.padded_vocab) {
      throw std::logic_error("a vocabulary larger than the limits of its set of CUDA operations");
    }
  }
  [[nodiscard]] AttentionArgs<T> attention_args(BatchShape shape, std::int64_t heads, const Matrix& qkv,
                                                const Matrix& out, float* lse) const {
    return {.sequences = shape.rows,
            .seq_len = narrow<int>(shape.seq_len),
            .heads = narrow<int>(heads),
            .head_dim = narrow<int>(out.cols / heads),
            .qkv = elements<const T>(qkv),
            .out = elements<T>(out),
            .lse = lse};
  }

  CudaContext context_;
};

}  // namespace

std::unique_ptr<Ops> make_ops(Device& device, DType dtype, const OpsLimits& limits,
                              const CudaOptions& options) {
  if (device.kind() != DeviceKind::cuda) {
    throw std::logic_error("the CUDA operations run on CUDA devices only");
  }
  if (dtype == DType::f32) {
    return std::make_unique<CudaOps<float>>(device, dtype, limits, options);
  }
  if (dtype == DType::bf16) {
    return std::make_unique<CudaOps<__nv_bfloat16>>(device, dtype, limits, options);
  }
  throw std::logic_error("operations on a type that holds no real numbers");
}

}  // namespace cuda

std::unique_ptr<Ops> make_cuda_ops(Device& device, DType dtype, const OpsLimits& limits) {
  return cuda::make_ops(device, dtype, limits, {});
}

}  // namespace shardgpt
