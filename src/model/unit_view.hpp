#pragma once

#include <cstddef>
#include <span>

#include "core/dtype.hpp"
#include "kernels/ops.hpp"
#include "model/tensor_table.hpp"

namespace shardgpt {

/// Positions of the tensors inside the root unit, as TensorTable declares them.
enum class RootTensor : std::size_t { wpe, ln_f_weight, ln_f_bias, wte };
/// Positions of the tensors inside a block.
enum class BlockTensor : std::size_t {
  ln_1_weight,
  ln_1_bias,
  c_attn_weight,
  c_attn_bias,
  attn_c_proj_weight,
  attn_c_proj_bias,
  ln_2_weight,
  ln_2_bias,
  c_fc_weight,
  c_fc_bias,
  mlp_c_proj_weight,
  mlp_c_proj_bias
};

/// Finds one unit's tensors inside its gathered buffer of elements of `type`.
template <class Position>
class UnitView {
 public:
  UnitView(std::span<const TensorSpec> tensors, const void* params, DType type)
      : tensors_(tensors), params_(static_cast<const std::byte*>(params)), type_(type) {}

  [[nodiscard]] const void* vector(Position position) const { return at(position); }
  /// [rows, cols] of the table. Ops read weights only; Matrix has no const form.
  [[nodiscard]] Matrix matrix(Position position) const {
    const TensorSpec& spec = tensor(position);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    return {const_cast<std::byte*>(at(position)), spec.shape[0], spec.shape[1]};
  }

 private:
  [[nodiscard]] const TensorSpec& tensor(Position position) const {
    return tensors_[static_cast<std::size_t>(position)];
  }
  [[nodiscard]] const std::byte* at(Position position) const {
    return params_ + static_cast<std::size_t>(tensor(position).offset) * dtype_bytes(type_);
  }
  std::span<const TensorSpec> tensors_;
  const std::byte* params_;
  DType type_;
};

/// Where the gradient of one tensor lies in a unit's flat float buffer.
template <class Position>
[[nodiscard]] float* gradient_of(std::span<const TensorSpec> tensors, float* grads, Position position) {
  return grads + tensors[static_cast<std::size_t>(position)].offset;
}

}  // namespace shardgpt
