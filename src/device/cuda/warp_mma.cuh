#pragma once

/// Tensor-core fragments and asynchronous copies (compute capability 8.0 and newer): the only inline assembly
/// of the project. Layouts are those of the PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions".
///
/// Every function with a fragment is called by all 32 lanes of a warp together. With g = lane / 4, t = lane %
/// 4, and a pair meaning two bf16 values in one 32-bit register, the first in the low half:
///   A [16, 16]: a[0] pair A[g][2t..], a[1] A[g + 8][2t..], a[2] A[g][2t + 8..], a[3] A[g + 8][2t + 8..]
///   B [16, 8]:  b[0] pair B[2t..2t + 1][g], b[1] B[2t + 8..2t + 9][g]
///   D [16, 8]:  d[0] D[g][2t], d[1] D[g][2t + 1], d[2] D[g + 8][2t], d[3] D[g + 8][2t + 1]

#include <cstdint>

#include <cuda_bf16.h>

namespace shardgpt::cuda {

/// Two floats rounded to nearest even bf16, `low` in the low half.
__device__ __forceinline__ std::uint32_t pack_bf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return static_cast<std::uint32_t>(__bfloat16_as_ushort(pair.x)) |
         static_cast<std::uint32_t>(__bfloat16_as_ushort(pair.y)) << 16;
}
__device__ __forceinline__ float unpack_lo(std::uint32_t pair) {
  return __uint_as_float(pair << 16);
}
__device__ __forceinline__ float unpack_hi(std::uint32_t pair) {
  return __uint_as_float(pair & 0xffff0000U);
}

/// D += A * B, products of bf16 accumulated in FP32 (in an order that the hardware chooses).
__device__ __forceinline__ void mma_m16n8k16_bf16(float (&d)[4], const std::uint32_t (&a)[4],
                                                  const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Loads four 8 x 8 matrices of 16-bit values. Lane l gives the address of row l % 8 of matrix l / 8: 16
/// bytes in shared memory, 16-byte aligned. r[i] is the pair of columns 2t, 2t + 1 of row g of matrix i.
__device__ __forceinline__ void ldmatrix_x4(std::uint32_t (&r)[4], const void* shared_row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
/// The same of the transposed matrices: r[i] is the pair of rows 2t, 2t + 1 of column g of matrix i.
__device__ __forceinline__ void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* shared_row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

/// Starts a copy of 16 bytes from global to shared memory, both 16-byte aligned, as part of the thread's
/// current group. The destination may be read by the issuing thread after cp_async_wait, by others after a
/// barrier besides.
__device__ __forceinline__ void cp_async16(void* shared, const void* global) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(global) : "memory");
}
/// The same; where `valid` is false `global` is not read and 16 zero bytes are written.
__device__ __forceinline__ void cp_async16_zero_fill(void* shared, const void* global, bool valid) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  const int source_bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(global), "r"(source_bytes)
               : "memory");
}
/// Ends the thread's current group of copies and begins the next.
__device__ __forceinline__ void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most the N newest groups of the thread are under way. All must have been waited for at its
/// end.
template <int N>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

}  // namespace shardgpt::cuda
