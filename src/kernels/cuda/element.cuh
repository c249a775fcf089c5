#pragma once

#include <cstdint>

#include <cuda_bf16.h>

#include "device/cuda/launch.cuh"
#include "device/cuda/warp_mma.cuh"

namespace shardgpt::cuda {

/// Elements that a thread reads or writes at once. Rows are multiples of it and start on 16 bytes.
inline constexpr int vector_size = 8;

struct Vector8 {
  float v[vector_size];
};

[[nodiscard]] __device__ inline float to_float(float value) {
  return value;
}
[[nodiscard]] __device__ inline float to_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}

/// Rounds to nearest even.
template <class T>
[[nodiscard]] __device__ inline T from_float(float value);
template <>
[[nodiscard]] __device__ inline float from_float<float>(float value) {
  return value;
}
template <>
[[nodiscard]] __device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}

[[nodiscard]] __device__ inline Vector8 load8(const float* from) {
  const auto* halves = reinterpret_cast<const float4*>(from);
  const float4 lo = halves[0];
  const float4 hi = halves[1];
  return {{lo.x, lo.y, lo.z, lo.w, hi.x, hi.y, hi.z, hi.w}};
}
[[nodiscard]] __device__ inline Vector8 load8(const __nv_bfloat16* from) {
  const uint4 raw = *reinterpret_cast<const uint4*>(from);
  return {{unpack_lo(raw.x), unpack_hi(raw.x), unpack_lo(raw.y), unpack_hi(raw.y), unpack_lo(raw.z),
           unpack_hi(raw.z), unpack_lo(raw.w), unpack_hi(raw.w)}};
}

__device__ inline void store8(float* to, const Vector8& x) {
  auto* halves = reinterpret_cast<float4*>(to);
  halves[0] = make_float4(x.v[0], x.v[1], x.v[2], x.v[3]);
  halves[1] = make_float4(x.v[4], x.v[5], x.v[6], x.v[7]);
}
__device__ inline void store8(__nv_bfloat16* to, const Vector8& x) {
  *reinterpret_cast<uint4*>(to) = make_uint4(pack_bf16(x.v[0], x.v[1]), pack_bf16(x.v[2], x.v[3]),
                                             pack_bf16(x.v[4], x.v[5]), pack_bf16(x.v[6], x.v[7]));
}

/// sum += x
__device__ inline void add8(Vector8& sum, const Vector8& x) {
#pragma unroll
  for (int i = 0; i < vector_size; ++i) {
    sum.v[i] += x.v[i];
  }
}

}  // namespace shardgpt::cuda
