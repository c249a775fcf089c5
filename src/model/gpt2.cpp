#include "model/gpt2.hpp"

#include <stdexcept>

#include "model/unit_view.hpp"

namespace shardgpt {

Gpt2::Gpt2(Device& device, Ops& ops, const TensorTable& table, const Gpt2Limits& limits)
    : ops_(ops),
      device_(device),
      compute_(device.stream(StreamRole::compute)),
      table_(table),
      limits_(limits),
      memory_(device.allocate(activation_bytes(table.config(), ops.dtype(), limits), "activations")) {
  place_activations(table.config(), ops.dtype(), limits, memory_.data(), act_);
}

std::int64_t Gpt2::root_capacity(const TensorTable& table) {
  const ModelConfig& config = table.config();
  return table.units()[0].elements + (padded_vocab(config) - config.vocab) * config.embd;
}

BlockActivations& Gpt2::activations(std::int64_t block) {
  return act_.blocks[limits_.use == ActivationUse::training ? static_cast<std::size_t>(block) : 0];
}

Matrix Gpt2::rows(const Matrix& matrix) const {
  return {matrix.data, shape_.tokens(), matrix.cols};
}

std::span<const TensorSpec> Gpt2::block_tensors(std::int64_t block) const {
  return table_.tensors_of(table_.units()[static_cast<std::size_t>(block) + 1]);
}

std::span<const TensorSpec> Gpt2::root_tensors() const {
  return table_.tensors_of(table_.units()[0]);
}

Matrix Gpt2::padded_wte(const void* root) const {
  Matrix wte = UnitView<RootTensor>(root_tensors(), root, ops_.dtype()).matrix(RootTensor::wte);
  wte.rows = padded_vocab(table_.config());
  return wte;
}

void Gpt2::begin(BatchShape shape, const std::int32_t* tokens, const std::int32_t* targets,
                 const void* root) {
  if (shape.rows > limits_.max_rows || shape.seq_len > limits_.seq_len) {
    throw std::logic_error("micro-batch larger than the activations");
  }
  shape_ = shape;
  const auto bytes = static_cast<std::size_t>(shape.tokens()) * sizeof(std::int32_t);
  device_.upload(act_.tokens, tokens, bytes, compute_);
  device_.upload(act_.targets, targets, bytes, compute_);
  const UnitView<RootTensor> view(root_tensors(), root, ops_.dtype());
  ops_.embedding_forward(compute_, shape_, act_.tokens, view.matrix(RootTensor::wte),
                         view.matrix(RootTensor::wpe), rows(act_.embedded));
}

void Gpt2::attention_layers(std::int64_t block, const void* params, Pass pass) {
  using enum BlockTensor;
  const UnitView<BlockTensor> view(block_tensors(block), params, ops_.dtype());
  BlockActivations& act = activations(block);
  Ops::LayerNormForward norm{.residual_in = rows(block == 0 ? act_.embedded : act.input),
                             .branch = {},
                             .residual_out = {},
                             .weight = view.vector(ln_1_weight),
                             .bias = view.vector(ln_1_bias),
                             .out = rows(act.norm1),
                             .mean = act.mean1,
                             .rstd = act.rstd1,
                             .epsilon = table_.config().layer_norm_epsilon};
  if (pass == Pass::first && block > 0) {
    // The previous block's MLP output joins the residual stream here, in the pass that normalizes it.
    norm.residual_in = rows(activations(block - 1).middle);
    norm.branch = rows(act_.branch);
    norm.residual_out = rows(act.input);
  }
  ops_.layer_norm_forward(compute_, norm);
  ops_.linear_forward(compute_, rows(act.norm1), view.matrix(c_attn_weight), view.vector(c_attn_bias),
                      rows(act.qkv));
  ops_.attention_forward(compute_, shape_, table_.config().heads, rows(act.qkv), rows(act.attended), act.lse);
  ops_.linear_forward(compute_, rows(act.attended), view.matrix(attn_c_proj_weight),
                      view.vector(attn_c_proj_bias), rows(act_.branch));
}

void Gpt2::mlp_layers(std::int64_t block, const void* params, const Matrix& branch) {
  using enum BlockTensor;
  const UnitView<BlockTensor> view(block_tensors(block), params, ops_.dtype());
  BlockActivations& act = activations(block);
  const bool kept = branch.data == nullptr;
  ops_.layer_norm_forward(compute_,
                          {.residual_in = rows(kept ? act.middle : (block == 0 ? act_.embedded : act.input)),
                           .branch = branch,
                           .residual_out = kept ? Matrix{} : rows(act.middle),
                           .weight = view.vector(ln_2_weight),
                           .bias = view.vector(ln_2_bias),
                           .out = rows(act.norm2),
                           .mean = act.mean2,
                           .rstd = act.rstd2,
                           .epsilon = table_.config().layer_norm_epsilon});
  ops_.linear_gelu_forward(compute_, rows(act.norm2), view.matrix(c_fc_weight), view.vector(c_fc_bias),
                           rows(act.pre_gelu), rows(act.gelu));
}

void Gpt2::block_forward(std::int64_t block, const void* params) {
  using enum BlockTensor;
  const UnitView<BlockTensor> view(block_tensors(block), params, ops_.dtype());
  attention_layers(block, params, Pass::first);
  mlp_layers(block, params, rows(act_.branch));
  ops_.linear_forward(compute_, rows(activations(block).gelu), view.matrix(mlp_c_proj_weight),
                      view.vector(mlp_c_proj_bias), rows(act_.branch));
  in_shared_memory_ = block;
}

void Gpt2::recompute(std::int64_t block, const void* params) {
  if (limits_.recompute == Recompute::none || in_shared_memory_ == block) {
    return;
  }
  if (limits_.recompute == Recompute::block) {
    attention_layers(block, params, Pass::again);
    mlp_layers(block, params, rows(act_.branch));
  } else {
    mlp_layers(block, params, {});
  }
  in_shared_memory_ = block;
}

void Gpt2::final_norm(const void* root) {
  const UnitView<RootTensor> view(root_tensors(), root, ops_.dtype());
  ops_.layer_norm_forward(compute_, {.residual_in = rows(activations(table_.config().layers - 1).middle),
                                     .branch = rows(act_.branch),
                                     .residual_out = rows(act_.final_residual),
                                     .weight = view.vector(RootTensor::ln_f_weight),
                                     .bias = view.vector(RootTensor::ln_f_bias),
                                     .out = rows(act_.final_norm),
                                     .mean = act_.final_mean,
                                     .rstd = act_.final_rstd,
                                     .epsilon = table_.config().layer_norm_epsilon});
}

void Gpt2::head(const void* root, StepSums* sums, float* root_grad) {
  final_norm(root);
  const bool training = root_grad != nullptr;
  const auto grad = [&](RootTensor tensor) { return gradient_of(root_tensors(), root_grad, tensor); };
  ops_.classifier(compute_, {.in = rows(act_.final_norm),
                             .wte = padded_wte(root),
                             .vocab = table_.config().vocab,
                             .targets = act_.targets,
                             .sums = sums,
                             .din = training ? rows(act_.dbranch) : Matrix{},
                             .dwte = training ? grad(RootTensor::wte) : nullptr});
  if (!training) {
    return;
  }
  const UnitView<RootTensor> view(root_tensors(), root, ops_.dtype());
  ops_.layer_norm_backward(compute_, {.dout = rows(act_.dbranch),
                                      .input = rows(act_.final_residual),
                                      .weight = view.vector(RootTensor::ln_f_weight),
                                      .mean = act_.final_mean,
                                      .rstd = act_.final_rstd,
                                      .dresidual_in = {},
                                      .dresidual_out = rows(act_.dresidual),
                                      .dweight = grad(RootTensor::ln_f_weight),
                                      .dbias = grad(RootTensor::ln_f_bias),
                                      .write = Write::accumulate});
}

void Gpt2::logits(const void* root, std::int64_t token_rows, float* out) {
  final_norm(root);
  ops_.logits(compute_, {act_.final_norm.data, token_rows, act_.final_norm.cols}, padded_wte(root),
              table_.config().vocab, out);
}

void Gpt2::block_backward(std::int64_t block, const void* params, float* grads) {
  using enum BlockTensor;
  const std::span<const TensorSpec> tensors = block_tensors(block);
  const UnitView<BlockTensor> view(tensors, params, ops_.dtype());
  const auto grad = [&](BlockTensor tensor) { return gradient_of(tensors, grads, tensor); };
  BlockActivations& act = activations(block);
  const Matrix dresidual = rows(act_.dresidual);
  const Matrix dbranch = rows(act_.dbranch);

  recompute(block, params);
  ops_.linear_backward(compute_, {.in = rows(act.gelu),
                                  .weight = view.matrix(mlp_c_proj_weight),
                                  .dout = dresidual,
                                  .din = rows(act_.dwide),
                                  .dweight = grad(mlp_c_proj_weight),
                                  .dbias = grad(mlp_c_proj_bias)});
  ops_.gelu_backward(compute_, rows(act.pre_gelu), rows(act_.dwide), rows(act_.dwide));
  ops_.linear_backward(compute_, {.in = rows(act.norm2),
                                  .weight = view.matrix(c_fc_weight),
                                  .dout = rows(act_.dwide),
                                  .din = dbranch,
                                  .dweight = grad(c_fc_weight),
                                  .dbias = grad(c_fc_bias)});
  ops_.layer_norm_backward(compute_, {.dout = dbranch,
                                      .input = rows(act.middle),
                                      .weight = view.vector(ln_2_weight),
                                      .mean = act.mean2,
                                      .rstd = act.rstd2,
                                      .dresidual_in = dresidual,
                                      .dresidual_out = dresidual,
                                      .dweight = grad(ln_2_weight),
                                      .dbias = grad(ln_2_bias)});
  ops_.linear_backward(compute_, {.in = rows(act.attended),
                                  .weight = view.matrix(attn_c_proj_weight),
                                  .dout = dresidual,
                                  .din = dbranch,
                                  .dweight = grad(attn_c_proj_weight),
                                  .dbias = grad(attn_c_proj_bias)});
  ops_.attention_backward(compute_, shape_, table_.config().heads, rows(act.qkv), rows(act.attended), act.lse,
                          dbranch, rows(act_.dqkv));
  ops_.linear_backward(compute_, {.in = rows(act.norm1),
                                  .weight = view.matrix(c_attn_weight),
                                  .dout = rows(act_.dqkv),
                                  .din = dbranch,
                                  .dweight = grad(c_attn_weight),
                                  .dbias = grad(c_attn_bias)});
  ops_.layer_norm_backward(compute_, {.dout = dbranch,
                                      .input = rows(block == 0 ? act_.embedded : act.input),
                                      .weight = view.vector(ln_1_weight),
                                      .mean = act.mean1,
                                      .rstd = act.rstd1,
                                      .dresidual_in = dresidual,
                                      .dresidual_out = dresidual,
                                      .dweight = grad(ln_1_weight),
                                      .dbias = grad(ln_1_bias)});
}

void Gpt2::end(float* root_grad) {
  ops_.embedding_backward(compute_, shape_, act_.tokens, rows(act_.dresidual),
                          gradient_of(root_tensors(), root_grad, RootTensor::wte),
                          gradient_of(root_tensors(), root_grad, RootTensor::wpe));
}

}  // namespace shardgpt
