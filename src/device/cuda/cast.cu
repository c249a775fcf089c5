#include <algorithm>
#include <cstdint>

#include <cuda_bf16.h>

#include "device/cuda/cast.hpp"
#include "device/cuda/launch.cuh"

namespace shardgpt::cuda {
namespace {

constexpr int block_threads = 256;
constexpr std::size_t vector_elements = 8;  // 32 bytes read, 16 bytes written by a thread at a time
constexpr std::size_t most_blocks = 4096;   // then threads take several vectors each

/// One thread per element; for what the vector form leaves over.
__global__ void cast_elements(__nv_bfloat16* to, const float* from, std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) {
    to[i] = __float2bfloat16_rn(from[i]);
  }
}

/// Both pointers 16-byte aligned.
__global__ void __launch_bounds__(block_threads)
    cast_vectors(uint4* to, const float4* from, std::size_t vectors) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < vectors;
       i += stride) {
    const float4 low = from[2 * i];
    const float4 high = from[2 * i + 1];
    const __nv_bfloat162 pairs[4] = {__floats2bfloat162_rn(low.x, low.y), __floats2bfloat162_rn(low.z, low.w),
                                     __floats2bfloat162_rn(high.x, high.y),
                                     __floats2bfloat162_rn(high.z, high.w)};
    uint4 packed;
    memcpy(&packed, pairs, sizeof(packed));
    to[i] = packed;
  }
}

bool aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % sizeof(float4) == 0;
}

unsigned blocks_for(std::size_t items) {
  return static_cast<unsigned>(std::min(most_blocks, (items + block_threads - 1) / block_threads));
}

}  // namespace

void cast_to_bf16(bf16* to, const float* from, std::size_t count, cudaStream_t stream) {
  auto* out = reinterpret_cast<__nv_bfloat16*>(to);
  const std::size_t vectors = aligned(to) && aligned(from) ? count / vector_elements : 0;
  if (vectors > 0) {
    launch(cast_vectors, dim3(blocks_for(vectors)), dim3(block_threads), 0, stream,
           reinterpret_cast<uint4*>(to), reinterpret_cast<const float4*>(from), vectors);
  }
  // Pieces are multiples of the vector in a sharded unit: what is left is a tail, or an odd buffer of a test.
  const std::size_t done = vectors * vector_elements;
  constexpr std::size_t most = most_blocks * block_threads;
  for (std::size_t begin = done; begin < count; begin += most) {
    const std::size_t length = std::min(most, count - begin);
    launch(cast_elements, dim3(blocks_for(length)), dim3(block_threads), 0, stream, out + begin, from + begin,
           length);
  }
}

}  // namespace shardgpt::cuda
