#pragma once

#include <cstdint>

#include "kernels/cuda/matrix_products.hpp"
#include "kernels/ops.hpp"

namespace shardgpt::cuda {

/// How the classifier is cut into chunks; the defaults suit large devices. Tests choose others.
struct CudaOptions {
  /// Tokens whose float logits exist at a time: few enough for the softmax to find most of them in the cache.
  std::int64_t logit_rows = 512;
  /// Tokens whose logit gradients are kept for one product with the embedding: it reads and writes all of the
  /// embedding's gradient. In float the gradients take the place of the logits, and logit_rows counts.
  std::int64_t group_rows = 4096;
};

/// What the operations share: products, and all scratch memory, sized for the limits at construction. Used by
/// one operation at a time, in the order of the compute stream.
struct CudaContext {
  /// Throws InputError where the kernels do not serve the sizes in `limits`.
  CudaContext(Device& device, DType dtype, const OpsLimits& limits, const CudaOptions& options);

  MatrixProducts products;
  DType dtype;
  OpsLimits limits;
  std::int64_t tokens;      ///< most of a micro-batch
  std::int64_t logit_rows;  ///< as in CudaOptions, but no more than there are tokens
  std::int64_t group_rows;
  Buffer parts;      ///< float: partial sums of weight gradients
  Buffer delta;      ///< float [rows, heads, seq_len]
  Buffer embedding;  ///< as embedding_backward wants it
  Buffer logits;     ///< float [logit_rows, padded vocabulary]
  Buffer dlogits;    ///< bf16 [group_rows, padded vocabulary]; empty for f32
  Buffer losses;     ///< double [group_rows]
  Buffer norms;      ///< double [norm_parts]
};

}  // namespace shardgpt::cuda
