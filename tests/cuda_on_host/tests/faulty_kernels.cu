#include <stdexcept>

#include "tests/cuda_on_host/tests/example_kernels.cuh"

namespace shardgpt::cuda::examples {

namespace {

/// Calls `function` with std::integral_constant<Fault, fault>; the fault must be one of `known`.
template <Fault... known, class Function>
void with_fault(Fault fault, Function function) {
  const bool found = ((fault == known && (function(std::integral_constant<Fault, known>{}), true)) || ...);
  if (!found) {
    throw std::invalid_argument("the kernel does not know this fault");
  }
}

}  // namespace

void layer_norm(Fault fault, const float* x, const float* weight, const float* bias, float* y, float* rstd,
                int rows, int columns) {
  with_fault<Fault::none, Fault::skipped_barrier, Fault::different_barriers, Fault::missing_lanes,
             Fault::missing_barrier, Fault::read_past_global, Fault::read_past_shared,
             Fault::local_array_overflow, Fault::blocks_write_one_place>(
      fault, [&](auto planted) { launch_layer_norm<planted()>(x, weight, bias, y, rstd, rows, columns); });
}

void product(Fault fault, const Bf16* a, const Bf16* b, float* c, int m, int n, int k) {
  with_fault<Fault::none, Fault::missing_second_barrier, Fault::short_dynamic_shared, Fault::misaligned_load>(
      fault, [&](auto planted) { launch_product<planted()>(a, b, c, m, n, k); });
}

void product_async(Fault fault, const Bf16* a, const Bf16* b, float* c, int m, int n, int k) {
  with_fault<Fault::none, Fault::waits_one_group_short, Fault::refill_without_barrier,
             Fault::no_barrier_after_wait, Fault::copies_not_awaited>(
      fault, [&](auto planted) { launch_product_async<planted()>(a, b, c, m, n, k); });
}

void warp_exchange(Fault fault, const int* x, int* sums, int* votes, int count) {
  with_fault<Fault::none, Fault::missing_warp_barrier, Fault::plain_increment>(
      fault, [&](auto planted) { launch_warp_exchange<planted()>(x, sums, votes, count); });
}

}  // namespace shardgpt::cuda::examples
