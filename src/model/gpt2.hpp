#pragma once

#include <cstdint>
#include <span>

#include "device/device.hpp"
#include "kernels/ops.hpp"
#include "model/activations.hpp"
#include "model/tensor_table.hpp"

namespace shardgpt {

/// GPT-2 (Radford et al. 2019): pre-layer-norm blocks, learned positions, tanh GELU, tied head, one
/// micro-batch at a time. Holds activations, not weights: `root` and `params` are gathered units in the
/// table's layout and the Ops' element type (the root followed by zero rows up to the padded vocabulary),
/// `root_grad` and `grads` their float gradients in the same layout. Every method only issues work to the
/// compute stream. Order: begin, block_forward 0..L-1, head; then in training block_backward L-1..0 and end.
class Gpt2 {
 public:
  /// `device`, `ops` and `table` must outlive the model.
  Gpt2(Device& device, Ops& ops, const TensorTable& table, const Gpt2Limits& limits);

  /// Takes the micro-batch: token ids and targets [B, T] on the host, read before the call returns. Embeds
  /// it.
  void begin(BatchShape shape, const std::int32_t* tokens, const std::int32_t* targets, const void* root);
  void block_forward(std::int64_t block, const void* params);
  /// Final norm, logits and loss, added to `sums`. With `root_grad`, also the gradients of these, added to
  /// it.
  void head(const void* root, StepSums* sums, float* root_grad);
  /// Logits of the first `rows` tokens behind block_forward: float [rows, vocab]; evaluation of few tokens.
  void logits(const void* root, std::int64_t rows, float* out);
  /// Overwrites `grads` whole. Computes first what the limits say is computed again.
  void block_backward(std::int64_t block, const void* params, float* grads);
  /// Adds the embedding's gradient to `root_grad`.
  void end(float* root_grad);

  /// Elements of the gathered root: the unit and the vocabulary padding behind it.
  [[nodiscard]] static std::int64_t root_capacity(const TensorTable& table);

 private:
  [[nodiscard]] BlockActivations& activations(std::int64_t block);
  [[nodiscard]] Matrix rows(const Matrix& matrix) const;
  [[nodiscard]] std::span<const TensorSpec> block_tensors(std::int64_t block) const;
  [[nodiscard]] std::span<const TensorSpec> root_tensors() const;
  [[nodiscard]] Matrix padded_wte(const void* root) const;
  /// Whether a sub-layer runs in the forward pass or in backward, from what that pass has kept.
  enum class Pass { first, again };
  /// Norm, attention and its projection, into the branch buffer.
  void attention_layers(std::int64_t block, const void* params, Pass pass);
  /// Norm and first MLP layer. `branch`: attention's output, or absent where the residual stream behind it
  /// was kept.
  void mlp_layers(std::int64_t block, const void* params, const Matrix& branch);
  void recompute(std::int64_t block, const void* params);
  void final_norm(const void* root);

  Ops& ops_;
  Device& device_;
  Stream& compute_;
  const TensorTable& table_;
  Gpt2Limits limits_;
  Buffer memory_;
  Activations act_;
  BatchShape shape_;
  std::int64_t in_shared_memory_ = -1;  // the block whose activations are there, if they are not kept
};

}  // namespace shardgpt
