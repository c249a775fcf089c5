#pragma once

/// Inputs of the example kernels, and how far their results are from plain loops in double (NaN counts as
/// infinite). Of the runtime they use cudaMalloc, cudaFree, cudaMemcpy and cudaDeviceSynchronize: they run on
/// a GPU as on the host. The kernel is an argument, so that the same case serves kernels with planted faults.

#include <functional>

#include <cuda_bf16.h>

namespace shardgpt::cuda::examples {

using LayerNorm = std::function<void(const float*, const float*, const float*, float*, float*, int, int)>;
using Product = std::function<void(const __nv_bfloat16*, const __nv_bfloat16*, float*, int, int, int)>;
using Attention = std::function<void(const __nv_bfloat16*, const __nv_bfloat16*, const __nv_bfloat16*,
                                     __nv_bfloat16*, int, int)>;
using Exchange = std::function<void(const int*, int*, int*, int)>;

/// Largest absolute error of y and rstd.
double layer_norm_error(const LayerNorm& kernel, int rows, int columns);
/// Largest absolute error; the inputs are small multiples of 1/8, so that the sums are exact.
double product_error(const Product& kernel, int m, int n, int k);
/// Largest absolute error of the output.
double attention_error(const Attention& kernel, int heads, int tokens);
/// Sum of the absolute errors.
double exchange_error(const Exchange& kernel, int count);

}  // namespace shardgpt::cuda::examples
