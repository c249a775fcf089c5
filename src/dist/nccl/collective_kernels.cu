#include <algorithm>
#include <cstdint>

#include "device/cuda/launch.cuh"
#include "dist/nccl/collective_kernels.hpp"

namespace shardgpt::cuda {
namespace {

constexpr int block_threads = 256;
constexpr std::size_t most_blocks = 4096;  // then threads take several elements each

template <class Vector>
__device__ Vector sum_of(Vector a, Vector b);

template <>
__device__ float sum_of(float a, float b) {
  return a + b;
}

template <>
__device__ float4 sum_of(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

template <class Vector>
__global__ void __launch_bounds__(block_threads)
    add_vectors(Vector* sum, const Vector* part, std::size_t vectors) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < vectors;
       i += stride) {
    sum[i] = sum_of(sum[i], part[i]);
  }
}

__global__ void sum_in_order(double* values, const double* all, int ranks, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) {
    return;
  }
  double sum = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    sum += all[rank * count + i];
  }
  values[i] = sum;
}

bool aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % sizeof(float4) == 0;
}

template <class Vector>
void add_all(Vector* sum, const Vector* part, std::size_t vectors, cudaStream_t stream) {
  if (vectors > 0) {
    const std::size_t blocks = std::min(most_blocks, (vectors + block_threads - 1) / block_threads);
    launch(add_vectors<Vector>, dim3(static_cast<unsigned>(blocks)), dim3(block_threads), 0, stream, sum,
           part, vectors);
  }
}

}  // namespace

void add_to(float* sum, const float* part, std::size_t count, cudaStream_t stream) {
  const std::size_t vectors = aligned(sum) && aligned(part) ? count / 4 : 0;
  add_all(reinterpret_cast<float4*>(sum), reinterpret_cast<const float4*>(part), vectors, stream);
  add_all(sum + 4 * vectors, part + 4 * vectors, count - 4 * vectors, stream);
}

void sum_over_ranks(double* values, const double* all, int ranks, int count, cudaStream_t stream) {
  const int blocks = (count + block_threads - 1) / block_threads;
  if (blocks > 0) {
    launch(sum_in_order, dim3(static_cast<unsigned>(blocks)), dim3(block_threads), 0, stream, values, all,
           ranks, count);
  }
}

}  // namespace shardgpt::cuda
