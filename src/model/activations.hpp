#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/dtype.hpp"
#include "kernels/ops.hpp"
#include "model/model_config.hpp"

namespace shardgpt {

/// What activations are kept for: gradients, or a forward pass alone.
enum class ActivationUse { training, evaluation };

/// What the forward pass does not keep for backward, which computes it again, bit for bit: nothing; of each
/// block the MLP's inner activations (9 of 16 widths per token); or all but the block's input (15 of 16). The
/// last block's are still there when backward begins.
enum class Recompute { none, mlp, block };

struct Gpt2Limits {
  std::int64_t max_rows = 0;  ///< sequences per micro-batch
  std::int64_t seq_len = 0;   ///< longest sequence
  ActivationUse use = ActivationUse::training;
  Recompute recompute = Recompute::none;
};

/// Saved by the forward pass of one block. M tokens, C embedding width, H heads. What is computed again lies
/// in memory that all blocks share.
struct BlockActivations {
  Matrix input;            ///< [M, C] residual stream at the block's entry
  Matrix norm1;            ///< [M, C]
  Matrix qkv;              ///< [M, 3C]
  Matrix attended;         ///< [M, C]
  Matrix middle;           ///< [M, C] residual stream between attention and MLP
  Matrix norm2;            ///< [M, C]
  Matrix pre_gelu;         ///< [M, 4C]
  Matrix gelu;             ///< [M, 4C]
  float* mean1 = nullptr;  ///< [M]
  float* rstd1 = nullptr;  ///< [M]
  float* mean2 = nullptr;  ///< [M]
  float* rstd2 = nullptr;  ///< [M]
  float* lse = nullptr;    ///< [B, H, T]
};

/// Everything that one micro-batch needs in device memory beside parameters; placed in one allocation.
struct Activations {
  std::vector<BlockActivations> blocks;  ///< one per block; in evaluation a single one that all share
  Matrix embedded;                       ///< [M, C] residual stream before block 0
  Matrix branch;                    ///< [M, C] last sub-layer's output, not yet added to the residual stream
  Matrix final_residual;            ///< [M, C] residual stream behind the last block
  Matrix final_norm;                ///< [M, C]
  float* final_mean = nullptr;      ///< [M]
  float* final_rstd = nullptr;      ///< [M]
  std::int32_t* tokens = nullptr;   ///< [B, T]
  std::int32_t* targets = nullptr;  ///< [B, T]
  // Training only:
  Matrix dresidual;  ///< [M, C]
  Matrix dbranch;    ///< [M, C]
  Matrix dwide;      ///< [M, 4C]
  Matrix dqkv;       ///< [M, 3C]
};

/// Bytes that place_activations uses.
[[nodiscard]] std::size_t activation_bytes(const ModelConfig& config, DType dtype, const Gpt2Limits& limits);

/// Places all activations from `base` on, each on a 64-byte border, and returns the bytes used. With a null
/// `base` it only computes them.
std::size_t place_activations(const ModelConfig& config, DType dtype, const Gpt2Limits& limits, void* base,
                              Activations& out);

}  // namespace shardgpt
