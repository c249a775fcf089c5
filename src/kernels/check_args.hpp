#pragma once

#include "kernels/ops.hpp"

namespace shardgpt {

/// Preconditions of the operations in Ops that can be seen from sizes and pointers, shared by the
/// implementations. Checked where SHARDGPT_DEBUG_CHECKS is on, when the work is issued; a violation throws
/// std::logic_error.
void check_embedding(BatchShape shape, const Matrix& wte, const Matrix& wpe, const Matrix& out);
void check_layer_norm_forward(const Ops::LayerNormForward& args);
void check_layer_norm_backward(const Ops::LayerNormBackward& args);
void check_linear(const Matrix& in, const Matrix& weight, const Matrix& out);
void check_linear_backward(const Ops::LinearBackward& args);
void check_same_shape(const Matrix& a, const Matrix& b);
void check_attention(BatchShape shape, std::int64_t heads, const Matrix& qkv, const Matrix& out);
void check_classifier(const Ops::Classifier& args);

}  // namespace shardgpt
