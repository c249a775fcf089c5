#pragma once

/// Small kernels that use everything that kernel sources may use, as the tests of the host implementation
/// and, built by nvcc, of the instructions behind it. Every array is device memory.

#include <cstdint>

#include <cuda_bf16.h>

namespace shardgpt::cuda::examples {

/// y = (x - mean) * rstd * weight + bias of each row; x, y [rows, columns] f32, rstd [rows].
void layer_norm(const float* x, const float* weight, const float* bias, float* y, float* rstd, int rows,
                int columns);

/// c [m, n] f32 = a [m, k] bf16 * b [n, k]^T bf16; m, n multiples of 64, k of 32.
void product(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int m, int n, int k);

/// The same with asynchronous copies into two stages, fragments through ldmatrix.
void product_async(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int m, int n, int k);

/// Attention with a causal mask, head size 64; q, k, v, out [heads, tokens, 64] bf16. Any number of tokens:
/// missing rows are filled with zeros. V goes through ldmatrix_x4_trans.
void causal_attention(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                      __nv_bfloat16* out, int heads, int tokens);

/// sums[0] += all of x [count], sums[1] += each thread's neighbour's value (so the same), votes[i] = positive
/// values of warp i.
void warp_exchange(const int* x, int* sums, int* votes, int count);

}  // namespace shardgpt::cuda::examples
