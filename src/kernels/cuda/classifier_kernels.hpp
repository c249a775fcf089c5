#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "kernels/ops.hpp"

// Cross-entropy on a chunk of logits, for T = float and __nv_bfloat16. Each call only launches.
namespace shardgpt::cuda {

template <class T>
struct SoftmaxLossArgs {
  std::int64_t rows = 0;
  std::int64_t vocab = 0;
  std::int64_t padded_vocab = 0;          ///< a multiple of 8
  const float* logits = nullptr;          ///< [rows, padded_vocab], 16-byte aligned
  const std::int32_t* targets = nullptr;  ///< [rows]; negative: no target
  double* losses = nullptr;               ///< [rows]: -ln p(target), or 0
  T* dlogits = nullptr;  ///< [rows, padded_vocab] or null; may be `logits` where T is float. Padding: zeros.
};
template <class T>
void softmax_loss(cudaStream_t stream, const SoftmaxLossArgs<T>& args);

/// Adds losses [rows] and the number of targets to `sums`, in a fixed order.
void add_losses(cudaStream_t stream, std::int64_t rows, const double* losses, const std::int32_t* targets,
                StepSums* sums);

/// to [rows, to_cols] = the first to_cols columns of from [rows, from_cols].
void copy_columns(cudaStream_t stream, std::int64_t rows, const float* from, std::int64_t from_cols,
                  float* to, std::int64_t to_cols);

}  // namespace shardgpt::cuda
