#pragma once

/// The kernels of example_kernels.hpp with mistakes, for the host implementation alone.

#include <cuda_bf16.h>

namespace shardgpt::cuda::examples {

/// A mistake to plant; each kernel knows some, and ignores the others.
enum class Fault {
  none,
  skipped_barrier,         // layer_norm: a quarter of the block does not come
  different_barriers,      // layer_norm: two halves at two barriers
  missing_lanes,           // layer_norm: two lanes leave a reduction
  missing_barrier,         // layer_norm: sums are read before they are written
  read_past_global,        // layer_norm: one value after the last row
  read_past_shared,        // layer_norm: one value after an array
  local_array_overflow,    // layer_norm: one value after an array of the thread
  blocks_write_one_place,  // layer_norm: every block writes the first statistic
  missing_second_barrier,  // product: tiles are replaced while other warps read them
  short_dynamic_shared,    // product: less shared memory than it uses
  misaligned_load,         // product: a 16-byte load at an odd multiple of 8
  waits_one_group_short,   // product_async
  refill_without_barrier,  // product_async
  no_barrier_after_wait,   // product_async
  copies_not_awaited,      // product_async: at its end
  missing_warp_barrier,    // warp_exchange
  plain_increment,         // warp_exchange: += in place of atomicAdd
};

/// As in example_kernels.hpp.
void layer_norm(Fault fault, const float* x, const float* weight, const float* bias, float* y, float* rstd,
                int rows, int columns);
void product(Fault fault, const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int m, int n, int k);
void product_async(Fault fault, const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int m, int n,
                   int k);
void warp_exchange(Fault fault, const int* x, int* sums, int* votes, int count);

}  // namespace shardgpt::cuda::examples
