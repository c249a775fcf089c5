#pragma once

/// CUDA's names for kernel sources: built-in variables, barriers, warp functions, atomics on integers and
/// arithmetic. What is not here does not exist on the host: __threadfence patterns, named barriers, float
/// atomics.
// NOLINTBEGIN(bugprone-reserved-identifier): the names are CUDA's

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <cuda_runtime.h>

#include "tests/cuda_on_host/exec/kernel_calls.hpp"
#include "tests/cuda_on_host/exec/source_place.hpp"
#include "tests/cuda_on_host/exec/warp_functions.hpp"

// A function with this is never inlined into one that reports its accesses, and reports none itself.
#define CUDA_ON_HOST_UNSEEN [[gnu::no_sanitize("thread")]] inline

namespace cuda_on_host {

CUDA_ON_HOST_UNSEEN uint3 thread_index() {
  return kernel_context.thread->index;
}
CUDA_ON_HOST_UNSEEN uint3 block_index() {
  return kernel_context.block_index;
}
CUDA_ON_HOST_UNSEEN uint3 block_extents() {
  return kernel_context.block_extents;
}
CUDA_ON_HOST_UNSEEN uint3 grid_extents() {
  return kernel_context.grid_extents;
}

template <class T>
concept Exchangeable = std::is_trivially_copyable_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

template <Exchangeable T>
T exchange_as(std::uint32_t mask, T value, unsigned source_lane, const cuda_on_host::SourcePlace& where) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(static_cast<Bits>(exchange(mask, std::bit_cast<Bits>(value), source_lane, where)));
}

}  // namespace cuda_on_host

#define threadIdx (::cuda_on_host::thread_index())
#define blockIdx (::cuda_on_host::block_index())
#define blockDim (::cuda_on_host::block_extents())
#define gridDim (::cuda_on_host::grid_extents())
inline constexpr int warpSize = 32;

inline void __syncthreads(const cuda_on_host::SourcePlace& where = cuda_on_host::SourcePlace::here()) {
  cuda_on_host::block_barrier(where);
}
inline void __syncwarp(unsigned mask = 0xffffffffU,
                       const cuda_on_host::SourcePlace& where = cuda_on_host::SourcePlace::here()) {
  cuda_on_host::warp_operation(mask, nullptr, nullptr, /*orders_memory=*/true, where);
}

// Lanes exchange within groups of `width`; who would look outside its group gets its own value.
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize,
              const cuda_on_host::SourcePlace& where = cuda_on_host::SourcePlace::here()) {
  const unsigned lane = cuda_on_host::lane_of_thread();
  const unsigned group = static_cast<unsigned>(width) - 1;
  return cuda_on_host::exchange_as(mask, value, (lane & ~group) | (static_cast<unsigned>(source) & group),
                                   where);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize,
                  const cuda_on_host::SourcePlace& where = cuda_on_host::SourcePlace::here()) {
  const unsigned lane = cuda_on_host::lane_of_thread();
  const unsigned group = static_cast<unsigned>(width) - 1;
  const unsigned source = lane ^ static_cast<unsigned>(lane_mask);
  return cuda_on_host::exchange_as(mask, value, (source & ~group) > (lane & ~group) ? lane : source, where);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                   const cuda_on_host::SourcePlace& where = cuda_on_host::SourcePlace::here()) {
  const unsigned lane = cuda_on_host::lane_of_thread();
  const unsigned group = static_cast<unsigned>(width) - 1;
  return cuda_on_host::exchange_as(mask, value, (lane & group) + delta > group ? lane : lane + delta, where);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                 const cuda_on_host::SourcePlace& where = cuda_on_host::SourcePlace::here()) {
  const unsigned lane = cuda_on_host::lane_of_thread();
  const unsigned group = static_cast<unsigned>(width) - 1;
  return cuda_on_host::exchange_as(mask, value, (lane & group) < delta ? lane : lane - delta, where);
}

inline unsigned __ballot_sync(unsigned mask, int predicate,
                              const cuda_on_host::SourcePlace& where = cuda_on_host::SourcePlace::here()) {
  return cuda_on_host::ballot(mask, predicate != 0, where);
}
inline int __any_sync(unsigned mask, int predicate,
                      const cuda_on_host::SourcePlace& where = cuda_on_host::SourcePlace::here()) {
  return cuda_on_host::ballot(mask, predicate != 0, where) != 0 ? 1 : 0;
}
inline int __all_sync(unsigned mask, int predicate,
                      const cuda_on_host::SourcePlace& where = cuda_on_host::SourcePlace::here()) {
  return cuda_on_host::ballot(mask, predicate != 0, where) == mask ? 1 : 0;
}

// No thread runs between another's two steps: the read and the write are one.
template <std::integral T>
CUDA_ON_HOST_UNSEEN T atomicAdd(T* address, std::type_identity_t<T> value) {
  cuda_on_host::check_access(address, sizeof(T), cuda_on_host::AccessKind::atomic,
                             cuda_on_host::MemorySpace::global, cuda_on_host::SourcePlace::here());
  const T old = *address;
  *address = static_cast<T>(old + value);
  return old;
}
template <std::integral T>
CUDA_ON_HOST_UNSEEN T atomicMax(T* address, std::type_identity_t<T> value) {
  cuda_on_host::check_access(address, sizeof(T), cuda_on_host::AccessKind::atomic,
                             cuda_on_host::MemorySpace::global, cuda_on_host::SourcePlace::here());
  const T old = *address;
  *address = std::max(old, value);
  return old;
}

template <class T>
T __ldg(const T* address) {
  return *address;
}
template <class T>
T __ldcs(const T* address) {
  return *address;
}
template <class T>
T __ldcg(const T* address) {
  return *address;
}
template <class T>
void __stcs(T* address, std::type_identity_t<T> value) {
  *address = value;
}
template <class T>
void __stcg(T* address, std::type_identity_t<T> value) {
  *address = value;
}

inline unsigned __float_as_uint(float value) {
  return std::bit_cast<unsigned>(value);
}
inline float __uint_as_float(unsigned value) {
  return std::bit_cast<float>(value);
}
inline int __float_as_int(float value) {
  return std::bit_cast<int>(value);
}
inline float __int_as_float(int value) {
  return std::bit_cast<float>(value);
}
inline int __popc(unsigned value) {
  return std::popcount(value);
}
inline int __clz(int value) {
  return std::countl_zero(static_cast<unsigned>(value));
}
inline int __ffs(int value) {
  return value == 0 ? 0 : std::countr_zero(static_cast<unsigned>(value)) + 1;
}
inline unsigned __umulhi(unsigned left, unsigned right) {
  return static_cast<unsigned>(std::uint64_t{left} * right >> 32);
}

inline float __expf(float value) {
  return std::exp(value);
}
inline float __logf(float value) {
  return std::log(value);
}
inline float __fdividef(float left, float right) {
  return left / right;
}
inline float __frcp_rn(float value) {
  return 1.0F / value;
}
inline float __fsqrt_rn(float value) {
  return std::sqrt(value);
}
inline float __fadd_rn(float left, float right) {
  return left + right;
}
inline float __fmul_rn(float left, float right) {
  return left * right;
}
inline float __fmaf_rn(float left, float right, float addend) {
  return std::fma(left, right, addend);
}
inline float rsqrtf(float value) {
  return 1.0F / std::sqrt(value);
}

using std::max;
using std::min;

// NOLINTEND(bugprone-reserved-identifier)
