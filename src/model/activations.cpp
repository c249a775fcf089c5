#include "model/activations.hpp"

#include "core/checked.hpp"

namespace shardgpt {
namespace {

/// Carves aligned pieces out of one allocation.
class Carver {
 public:
  explicit Carver(void* base) : base_(static_cast<std::byte*>(base)) {}
  [[nodiscard]] std::size_t bytes() const { return used_; }
  [[nodiscard]] Matrix matrix(std::int64_t rows, std::int64_t cols, DType type) {
    const auto elements = narrow<std::size_t>(checked_mul(rows, cols));
    return {take(checked_mul(elements, dtype_bytes(type))), rows, cols};
  }
  template <class T>
  [[nodiscard]] T* array(std::int64_t count) {
    return static_cast<T*>(take(checked_mul(narrow<std::size_t>(count), sizeof(T))));
  }

 private:
  void* take(std::size_t bytes) {
    constexpr std::size_t alignment = 64;
    const std::size_t at = used_;
    used_ = checked_add(used_, round_up(bytes, alignment));
    return base_ == nullptr ? nullptr : base_ + at;
  }
  std::byte* base_;
  std::size_t used_ = 0;
};

/// Places parts of a block's activations.
struct BlockPlacer {
  Carver& carver;
  std::int64_t tokens;
  std::int64_t width;
  std::int64_t heads;
  DType type;

  void input(BlockActivations& block) const { block.input = carver.matrix(tokens, width, type); }
  void attention(BlockActivations& block) const {
    block.norm1 = carver.matrix(tokens, width, type);
    block.qkv = carver.matrix(tokens, 3 * width, type);
    block.attended = carver.matrix(tokens, width, type);
    block.middle = carver.matrix(tokens, width, type);
    block.mean1 = carver.array<float>(tokens);
    block.rstd1 = carver.array<float>(tokens);
    block.lse = carver.array<float>(checked_mul(tokens, heads));
  }
  void mlp(BlockActivations& block) const {
    block.norm2 = carver.matrix(tokens, width, type);
    block.pre_gelu = carver.matrix(tokens, 4 * width, type);
    block.gelu = carver.matrix(tokens, 4 * width, type);
    block.mean2 = carver.array<float>(tokens);
    block.rstd2 = carver.array<float>(tokens);
  }
};

}  // namespace

std::size_t activation_bytes(const ModelConfig& config, DType dtype, const Gpt2Limits& limits) {
  Activations unused;
  return place_activations(config, dtype, limits, nullptr, unused);
}

std::size_t place_activations(const ModelConfig& config, DType dtype, const Gpt2Limits& limits, void* base,
                              Activations& out) {
  Carver carver(base);
  const bool training = limits.use == ActivationUse::training;
  const std::int64_t tokens = checked_mul(limits.max_rows, limits.seq_len);
  const std::int64_t width = config.embd;
  const BlockPlacer place{carver, tokens, width, config.heads, dtype};
  const std::int64_t blocks = training ? config.layers : 1;  // evaluation keeps nothing
  const bool keep_attention = limits.recompute != Recompute::block;
  const bool keep_mlp = limits.recompute == Recompute::none;
  BlockActivations shared;
  if (!keep_attention) {
    place.attention(shared);
  }
  if (!keep_mlp) {
    place.mlp(shared);
  }
  out.blocks.assign(static_cast<std::size_t>(blocks), shared);
  for (BlockActivations& block : out.blocks) {
    place.input(block);
    if (keep_attention) {
      place.attention(block);
    }
    if (keep_mlp) {
      place.mlp(block);
    }
  }
  out.embedded = carver.matrix(tokens, width, dtype);
  out.branch = carver.matrix(tokens, width, dtype);
  out.final_residual = carver.matrix(tokens, width, dtype);
  out.final_norm = carver.matrix(tokens, width, dtype);
  out.final_mean = carver.array<float>(tokens);
  out.final_rstd = carver.array<float>(tokens);
  out.tokens = carver.array<std::int32_t>(tokens);
  out.targets = carver.array<std::int32_t>(tokens);
  if (training) {
    out.dresidual = carver.matrix(tokens, width, dtype);
    out.dbranch = carver.matrix(tokens, width, dtype);
    out.dwide = carver.matrix(tokens, 4 * width, dtype);
    out.dqkv = carver.matrix(tokens, 3 * width, dtype);
  }
  return carver.bytes();
}

}  // namespace shardgpt
