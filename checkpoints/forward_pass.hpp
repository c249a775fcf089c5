#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/tensor_table.hpp"

namespace shardgpt {

/// Fills `values`, whose size is the unit's elements, with the weights of unit `unit` of the table, in its
/// order.
using ReadUnit = std::function<void(std::int64_t unit, std::span<float> values)>;

/// Logits of one sequence, float [tokens.size(), vocabulary], by the model's own forward pass in FP32 on this
/// machine's CPU; no MPI. One unit is in memory at a time; the root is read twice, for embedding and for
/// head. Token ids must be below the vocabulary size, 1 to `positions` of them.
[[nodiscard]] std::vector<float> forward_logits(const TensorTable& table, const ReadUnit& read_unit,
                                                std::span<const std::int32_t> tokens);

}  // namespace shardgpt
