#include "kernels/cpu/cpu_context.hpp"

#include <algorithm>

#include "core/checked.hpp"
#include "device/host/host_device.hpp"
#include "kernels/cpu/parallel.hpp"

namespace shardgpt::cpu {
namespace {

// Fewer passes over the vocabulary's gradient against more memory; measured at GPT-2's sizes.
constexpr std::int64_t most_group_rows_bf16 = 1024;
constexpr std::int64_t most_group_rows_f32 = 512;
constexpr std::int64_t most_logit_rows_bf16 = 256;

int compute_threads(Device& device) {
  int threads = 1;
  Stream& compute = device.stream(StreamRole::compute);
  submit(compute, [&threads] { threads = max_threads(); });
  compute.synchronize();
  return threads;
}

MatrixProducts::Limits product_limits(const OpsLimits& limits) {
  const std::int64_t tokens = limits.max_rows * limits.seq_len;
  const std::int64_t hidden = 4 * limits.embd;
  const std::int64_t head_rows = std::min(tokens, most_group_rows_bf16);
  const std::int64_t activations = std::max(tokens * hidden, head_rows * limits.padded_vocab);
  const std::int64_t weights = std::max(limits.embd * hidden, limits.padded_vocab * limits.embd);
  return {activations, std::max(activations, weights), activations, hidden};
}

}  // namespace

CpuContext::CpuContext(Device& device, DType type, const OpsLimits& limits, const CpuOptions& options)
    : vector(vector_kernels(options.instruction_set)),
      products(device, vector, options.bf16_products, product_limits(limits)),
      dtype(type),
      threads(compute_threads(device)) {
  const std::int64_t tokens = limits.max_rows * limits.seq_len;
  group_rows = std::min(tokens, type == DType::f32 ? most_group_rows_f32 : most_group_rows_bf16);
  logit_rows = type == DType::f32 ? group_rows : std::min(tokens, most_logit_rows_bf16);
  const auto workspace = [&](std::int64_t count, std::size_t element_bytes) {
    return device.allocate(narrow<std::size_t>(count) * element_bytes, "kernel workspace");
  };
  partial_sums = workspace(ceil_div(tokens, rows_per_part) * 4 * limits.embd, sizeof(float));
  const std::int64_t head_dim = limits.heads > 0 ? limits.embd / limits.heads : 0;
  attention_floats = type == DType::f32 ? vector.f32.attention_workspace(limits.seq_len, head_dim)
                                        : vector.bf16.attention_workspace(limits.seq_len, head_dim);
  attention = workspace(threads * attention_floats, sizeof(float));
  logits = workspace(logit_rows * limits.padded_vocab, sizeof(float));
  if (type == DType::bf16) {
    dlogits = workspace(group_rows * limits.padded_vocab, dtype_bytes(type));
  }
  if (type == DType::bf16 && options.bf16_products == Bf16Products::native) {
    transposed_in = workspace(4 * limits.embd * transposed_stride(tokens), dtype_bytes(type));
    const std::int64_t block = 64;  // oneDNN pads to its blocks
    packed_wte =
        workspace(round_up(limits.padded_vocab, block) * round_up(limits.embd, block), dtype_bytes(type));
  }
  losses = workspace(group_rows, sizeof(double));
  norms = workspace(norm_parts, sizeof(double));
}

}  // namespace shardgpt::cpu
