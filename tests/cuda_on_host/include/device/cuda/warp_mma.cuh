#pragma once

/// Stands in for src/device/cuda/warp_mma.cuh where kernel sources are compiled for the host: the same
/// declarations.

#include <bit>
#include <cstdint>

#include <cuda_bf16.h>

#include "tests/cuda_on_host/exec/kernel_calls.hpp"
#include "tests/cuda_on_host/exec/source_place.hpp"
#include "tests/cuda_on_host/exec/warp_functions.hpp"

namespace shardgpt::cuda {

[[gnu::always_inline]] inline std::uint32_t pack_bf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return static_cast<std::uint32_t>(__bfloat16_as_ushort(pair.x)) |
         static_cast<std::uint32_t>(__bfloat16_as_ushort(pair.y)) << 16;
}
[[gnu::always_inline]] inline float unpack_lo(std::uint32_t pair) {
  return std::bit_cast<float>(pair << 16);
}
[[gnu::always_inline]] inline float unpack_hi(std::uint32_t pair) {
  return std::bit_cast<float>(pair & 0xffff0000U);
}

[[gnu::always_inline]] inline void mma_m16n8k16_bf16(
    float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
    const cuda_on_host::SourcePlace& where = cuda_on_host::SourcePlace::here()) {
  cuda_on_host::multiply_accumulate(d, a, b, where);
}

[[gnu::always_inline]] inline void ldmatrix_x4(
    std::uint32_t (&r)[4], const void* shared_row,
    const cuda_on_host::SourcePlace& where = cuda_on_host::SourcePlace::here()) {
  cuda_on_host::check_access(shared_row, 16, cuda_on_host::AccessKind::read,
                             cuda_on_host::MemorySpace::shared, where);
  cuda_on_host::load_matrices(r, shared_row, /*transposed=*/false, where);
}
[[gnu::always_inline]] inline void ldmatrix_x4_trans(
    std::uint32_t (&r)[4], const void* shared_row,
    const cuda_on_host::SourcePlace& where = cuda_on_host::SourcePlace::here()) {
  cuda_on_host::check_access(shared_row, 16, cuda_on_host::AccessKind::read,
                             cuda_on_host::MemorySpace::shared, where);
  cuda_on_host::load_matrices(r, shared_row, /*transposed=*/true, where);
}

[[gnu::always_inline]] inline void cp_async16(
    void* shared, const void* global,
    const cuda_on_host::SourcePlace& where = cuda_on_host::SourcePlace::here()) {
  cuda_on_host::start_async_copy16(shared, global, where);
}
[[gnu::always_inline]] inline void cp_async16_zero_fill(
    void* shared, const void* global, bool valid,
    const cuda_on_host::SourcePlace& where = cuda_on_host::SourcePlace::here()) {
  cuda_on_host::start_async_copy16(shared, valid ? global : nullptr, where);
}
[[gnu::always_inline]] inline void cp_async_commit() {
  cuda_on_host::commit_async_copies();
}
template <int N>
[[gnu::always_inline]] inline void cp_async_wait() {
  cuda_on_host::wait_async_copies(N);
}

}  // namespace shardgpt::cuda
