#include "kernels/cuda/cuda_context.hpp"

#include <algorithm>
#include <string>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "kernels/cuda/attention_kernels.hpp"
#include "kernels/cuda/embedding_backward.hpp"
#include "kernels/cuda/optimizer_kernels.hpp"
#include "kernels/cuda/row_kernels.hpp"

namespace shardgpt::cuda {
namespace {

const OpsLimits& checked_limits(const OpsLimits& limits) {
  const auto found = [](std::int64_t value) {
    return ": found " + std::to_string(value) + "; use --device cpu";
  };
  SHARDGPT_REQUIRE(
      limits.embd % 8 == 0,
      "the CUDA kernels need an embedding size (--embd) that is a multiple of 8" + found(limits.embd));
  SHARDGPT_REQUIRE(limits.embd <= most_channels, "the CUDA kernels serve embedding sizes (--embd) up to " +
                                                     std::to_string(most_channels) + found(limits.embd));
  const std::int64_t head_dim = limits.heads > 0 ? limits.embd / limits.heads : 0;
  SHARDGPT_REQUIRE(head_dim <= plain_attention_most_head_dim,
                   "the CUDA kernels serve heads (--embd / --heads) of up to " +
                       std::to_string(plain_attention_most_head_dim) + " channels" + found(head_dim));
  SHARDGPT_REQUIRE(
      limits.padded_vocab % 8 == 0,
      "the CUDA kernels need a padded vocabulary that is a multiple of 8" + found(limits.padded_vocab));
  return limits;
}

}  // namespace

CudaContext::CudaContext(Device& device, DType type, const OpsLimits& sizes, const CudaOptions& options)
    : products(device), dtype(type), limits(checked_limits(sizes)), tokens(sizes.max_rows * sizes.seq_len) {
  const std::int64_t some_tokens = std::max(tokens, std::int64_t{1});
  logit_rows = std::min(some_tokens, options.logit_rows);
  group_rows = type == DType::f32 ? logit_rows : std::min(some_tokens, options.group_rows);
  const auto workspace = [&](std::int64_t count, std::size_t element_bytes) {
    return device.allocate(narrow<std::size_t>(count) * element_bytes, "kernel workspace");
  };
  // The widest linear layer has 4 * embd columns.
  parts = workspace(std::max(ceil_div(tokens, layer_norm_part_rows) * 2 * limits.embd,
                             ceil_div(tokens, column_part_rows) * 4 * limits.embd),
                    sizeof(float));
  delta = workspace(tokens * limits.heads, sizeof(float));
  embedding = device.allocate(embedding_workspace_bytes(tokens), "kernel workspace");
  logits = workspace(logit_rows * limits.padded_vocab, sizeof(float));
  if (type == DType::bf16) {
    dlogits = workspace(group_rows * limits.padded_vocab, dtype_bytes(type));
  }
  losses = workspace(group_rows, sizeof(double));
  norms = workspace(norm_parts, sizeof(double));
}

}  // namespace shardgpt::cuda
