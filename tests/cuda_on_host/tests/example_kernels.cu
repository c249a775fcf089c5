#include "tests/cuda_on_host/tests/example_attention.cuh"
#include "tests/cuda_on_host/tests/example_kernels.cuh"

namespace shardgpt::cuda::examples {

void layer_norm(const float* x, const float* weight, const float* bias, float* y, float* rstd, int rows,
                int columns) {
  launch_layer_norm<Fault::none>(x, weight, bias, y, rstd, rows, columns);
}

void product(const Bf16* a, const Bf16* b, float* c, int m, int n, int k) {
  launch_product<Fault::none>(a, b, c, m, n, k);
}

void product_async(const Bf16* a, const Bf16* b, float* c, int m, int n, int k) {
  launch_product_async<Fault::none>(a, b, c, m, n, k);
}

void causal_attention(const Bf16* q, const Bf16* k, const Bf16* v, Bf16* out, int heads, int tokens) {
  const dim3 grid(static_cast<unsigned>((tokens + 63) / 64), static_cast<unsigned>(heads));
  launch(causal_attention_kernel, grid, dim3(block_threads), 0, nullptr, q, k, v, out, tokens);
}

void warp_exchange(const int* x, int* sums, int* votes, int count) {
  launch_warp_exchange<Fault::none>(x, sums, votes, count);
}

}  // namespace shardgpt::cuda::examples
