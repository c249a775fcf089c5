#pragma once

#include <cstdint>

#include "core/error.hpp"
#include "kernels/ops.hpp"
#include "kernels/reference/element.hpp"

namespace shardgpt::reference {

/// Ops::embedding_forward.
template <class T>
void embedding_forward(BatchShape shape, const std::int32_t* tokens, std::int64_t channels, const T* wte,
                       const T* wpe, T* out) {
  for (std::int64_t row = 0; row < shape.tokens(); ++row) {
    const T* token_row = wte + tokens[row] * channels;
    const T* position_row = wpe + row % shape.seq_len * channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      out[row * channels + c] = store<T>(load(token_row[c]) + load(position_row[c]));
    }
  }
}

/// Ops::embedding_backward; rows are added in token order.
template <class T>
void embedding_backward(BatchShape shape, const std::int32_t* tokens, std::int64_t channels, const T* dout,
                        Wide<T>* dwte, Wide<T>* dwpe) {
  for (std::int64_t row = 0; row < shape.tokens(); ++row) {
    Wide<T>* token_row = dwte + tokens[row] * channels;
    Wide<T>* position_row = dwpe + row % shape.seq_len * channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      const double gradient = load(dout[row * channels + c]);
      token_row[c] = static_cast<Wide<T>>(load(token_row[c]) + gradient);
      position_row[c] = static_cast<Wide<T>>(load(position_row[c]) + gradient);
    }
  }
}

}  // namespace shardgpt::reference
