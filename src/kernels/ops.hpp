#pragma once

#include <cstdint>
#include <memory>

#include "core/dtype.hpp"
#include "device/device.hpp"

namespace shardgpt {

/// Row-major contiguous [rows, cols] in device memory. A null `data` means "absent" where an operation allows
/// it.
struct Matrix {
  void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// Whether a gradient replaces what is in its buffer or is added to it.
enum class Write { overwrite, accumulate };

/// Sizes that a set of Ops must be able to serve; its workspace is planned from them.
struct OpsLimits {
  std::int64_t max_rows = 0;  ///< sequences per micro-batch
  std::int64_t seq_len = 0;   ///< longest sequence, T
  std::int64_t embd = 0;      ///< C
  std::int64_t heads = 0;     ///< H
  std::int64_t padded_vocab = 0;
};

/// Shape of one micro-batch: B sequences of T tokens, M = B*T tokens.
struct BatchShape {
  std::int64_t rows = 0;     ///< B
  std::int64_t seq_len = 0;  ///< T
  [[nodiscard]] std::int64_t tokens() const { return rows * seq_len; }
};

/// What ranks tell one another along with a step's sums: each is summed over the ranks.
struct StepSignals {
  double stop = 0;        ///< ranks that were asked to stop
  double save = 0;        ///< ranks that ask for a checkpoint
  double save_ended = 0;  ///< ranks on which the save in flight has ended
};

/// Sums that one optimizer step collects on the device and all-reduces.
struct StepSums {
  double loss = 0;               ///< sum of -ln p(target) over targets
  double targets = 0;            ///< number of targets (exact up to 2^53)
  double grad_norm_squared = 0;  ///< of the undivided gradient, own shards only
  StepSignals signals = {};
};
inline constexpr std::size_t step_sums_count = sizeof(StepSums) / sizeof(double);

/// What the optimizer reads and a step reports; lives in device memory, written by Ops::finish_step.
struct StepScalars {
  double loss = 0;        ///< mean loss per target over all ranks
  double targets = 0;     ///< over all ranks
  double grad_norm = 0;   ///< of the gradient after division by targets, before clipping
  double grad_scale = 0;  ///< what to multiply an undivided gradient with: clip coefficient / targets
  StepSignals signals = {};
  std::int64_t applied = 0;        ///< 1: weights are updated; 0: skipped, nothing changes
  std::int64_t adam_step = 0;      ///< t: updates applied so far, this one included
  std::int64_t skipped_total = 0;  ///< steps skipped so far
};

/// AdamW on a contiguous piece of one tensor (or of several with the same decay).
struct AdamWPiece {
  float* param = nullptr;       ///< master weights, updated
  float* adam_m = nullptr;      ///< first moment, updated
  float* adam_v = nullptr;      ///< second moment, updated
  const float* grad = nullptr;  ///< undivided gradient
  std::int64_t count = 0;
  double lr = 0;
  double beta1 = 0;
  double beta2 = 0;
  double eps = 0;
  double weight_decay = 0;  ///< 0 where the tensor is not decayed
};

/// The training operations of GPT-2. All matrices of activations and of unsharded weights have the element
/// type `dtype()`; gradients of weights, statistics and losses are float; products accumulate in float. Every
/// operation only issues work to `stream`; memory must live until it has run. Results do not depend on
/// timing: the same inputs, sizes and thread count give the same bits. Zero rows are allowed and act as empty
/// sums.
class Ops {
 public:
  virtual ~Ops() = default;
  [[nodiscard]] virtual DType dtype() const = 0;

  /// out[b*T + t] = wte[tokens[b*T + t]] + wpe[t].  tokens int32 [B, T]; wte [V, C]; wpe [P, C]; out [B*T,
  /// C].
  virtual void embedding_forward(Stream& stream, BatchShape shape, const std::int32_t* tokens, Matrix wte,
                                 Matrix wpe, Matrix out) = 0;
  /// dwte[token] += dout, dwpe[t] += dout, in a fixed order.  dout [B*T, C]; dwte [V, C], dwpe [P, C] float.
  virtual void embedding_backward(Stream& stream, BatchShape shape, const std::int32_t* tokens, Matrix dout,
                                  float* dwte, float* dwpe) = 0;

  struct LayerNormForward {
    Matrix residual_in;            ///< [M, C]
    Matrix branch;                 ///< [M, C] added first, or absent
    Matrix residual_out;           ///< [M, C] residual_in + branch, rounded to dtype(); may alias residual_in
    const void* weight = nullptr;  ///< [C]
    const void* bias = nullptr;    ///< [C]
    Matrix out;                    ///< [M, C] layer_norm(residual_out) * weight + bias
    float* mean = nullptr;         ///< [M]
    float* rstd = nullptr;         ///< [M] 1 / sqrt(variance + epsilon), biased variance
    double epsilon = 1e-5;
  };
  /// With an absent branch residual_out may be absent too; then nothing but out, mean and rstd is written.
  virtual void layer_norm_forward(Stream& stream, const LayerNormForward& args) = 0;

  struct LayerNormBackward {
    Matrix dout;   ///< [M, C]
    Matrix input;  ///< [M, C] the residual_out of the forward pass
    const void* weight = nullptr;
    const float* mean = nullptr;
    const float* rstd = nullptr;
    Matrix dresidual_in;             ///< [M, C] gradient that arrives by the residual path, or absent (zero)
    Matrix dresidual_out;            ///< [M, C] dresidual_in + gradient of input; may alias dresidual_in
    float* dweight = nullptr;        ///< [C]
    float* dbias = nullptr;          ///< [C]
    Write write = Write::overwrite;  ///< of dweight and dbias
  };
  virtual void layer_norm_backward(Stream& stream, const LayerNormBackward& args) = 0;

  /// out = in * weight + bias.  in [M, K], weight [K, N], bias [N], out [M, N].
  virtual void linear_forward(Stream& stream, Matrix in, Matrix weight, const void* bias, Matrix out) = 0;
  /// As linear_forward into `pre`, then out = gelu(pre) with the tanh form; both are kept for backward.
  virtual void linear_gelu_forward(Stream& stream, Matrix in, Matrix weight, const void* bias, Matrix pre,
                                   Matrix out) = 0;

  struct LinearBackward {
    Matrix in;                       ///< [M, K]
    Matrix weight;                   ///< [K, N]
    Matrix dout;                     ///< [M, N]
    Matrix din;                      ///< [M, K] overwritten, or absent
    float* dweight = nullptr;        ///< [K, N]
    float* dbias = nullptr;          ///< [N]
    Write write = Write::overwrite;  ///< of dweight and dbias
  };
  virtual void linear_backward(Stream& stream, const LinearBackward& args) = 0;
  /// dpre = dout * gelu'(pre), tanh form; dpre may alias dout.
  virtual void gelu_backward(Stream& stream, Matrix pre, Matrix dout, Matrix dpre) = 0;

  /// Causal multi-head self-attention, scale 1/sqrt(C/H).  qkv [B*T, 3C] rows of q, k, v, heads side by side;
  /// out [B*T, C]; lse float [B, H, T]: log of the softmax denominator, kept for backward. Never holds T*T
  /// scores for more than one head per thread.
  virtual void attention_forward(Stream& stream, BatchShape shape, std::int64_t heads, Matrix qkv, Matrix out,
                                 float* lse) = 0;
  virtual void attention_backward(Stream& stream, BatchShape shape, std::int64_t heads, Matrix qkv,
                                  Matrix out, const float* lse, Matrix dout, Matrix dqkv) = 0;

  struct Classifier {
    Matrix in;   ///< [M, C] output of the last layer norm
    Matrix wte;  ///< [padded vocabulary, C]; the padding rows are zero and take no part in the softmax
    std::int64_t vocab = 0;
    const std::int32_t* targets = nullptr;  ///< [M] ids; a negative one (no_target) means no target
    StepSums* sums = nullptr;               ///< loss and targets are added to
    Matrix din;  ///< [M, C] gradient of the summed loss, overwritten; absent in evaluation
    float* dwte =
        nullptr;  ///< [padded vocabulary, C] added to (padding rows get exact zeros); null in evaluation
  };
  /// Tied head, cross-entropy and their gradient, chunked over tokens: logits exist for one chunk at a time.
  virtual void classifier(Stream& stream, const Classifier& args) = 0;
  /// logits[m, v] = in[m] . wte[v] for v < vocab, float [M, vocab]; for evaluation of few tokens.
  virtual void logits(Stream& stream, Matrix in, Matrix wte, std::int64_t vocab, float* logits) = 0;

  /// *out = sum of squares in double, in a fixed order.
  virtual void norm_squared(Stream& stream, const float* values, std::int64_t count, double* out) = 0;
  /// sums->grad_norm_squared = sum of parts[0..count), in order.
  virtual void sum_norms(Stream& stream, const double* parts, std::int64_t count, StepSums* sums) = 0;
  /// Turns all-reduced sums into scalars: mean loss, norm, clip coefficient min(1, clip / (norm + 1e-6)) (no
  /// clipping for clip <= 0), and whether the update is applied: not for a non-finite loss or norm, nor
  /// without targets. Advances adam_step or skipped_total.
  virtual void finish_step(Stream& stream, const StepSums* reduced, double clip, StepScalars* scalars) = 0;
  /// Loshchilov & Hutter 2019, decoupled decay: p -= lr*wd*p, then p -= lr * m_hat / (sqrt(v_hat) + eps),
  /// with t = scalars->adam_step and the gradient scaled by scalars->grad_scale. Does nothing where not
  /// applied.
  virtual void adamw(Stream& stream, const AdamWPiece& piece, const StepScalars* scalars) = 0;
};

/// Plain loops in float and double: the oracle of the tests, and what ThreadSanitizer runs. Host devices
/// only.
[[nodiscard]] std::unique_ptr<Ops> make_reference_ops(Device& device, DType dtype, const OpsLimits& limits);
/// oneDNN products and vector code on the compute stream of a host device.
[[nodiscard]] std::unique_ptr<Ops> make_cpu_ops(Device& device, DType dtype, const OpsLimits& limits);

}  // namespace shardgpt
