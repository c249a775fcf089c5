#pragma once

/// What kernel sources use to launch and to declare shared memory. They write no <<<>>>, no __shared__ and no
/// inline assembly: the same text is compiled for the host by the tests (tests/cuda_on_host), where a header
/// of this path stands in for this one.

#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "device/cuda/cuda_check.hpp"

/// A static array in the block's shared memory, 16-byte aligned, uninitialised:
/// SHARDGPT_SHARED_ARRAY(float, tile, [32][33]); in a kernel or a __device__ function.
#define SHARDGPT_SHARED_ARRAY(T, name, ...) __shared__ __align__(16) T name __VA_ARGS__

/// T* name: the launch's dynamic shared memory, 128-byte aligned, uninitialised.
#define SHARDGPT_DYNAMIC_SHARED(T, name)                                    \
  extern __shared__ __align__(128) unsigned char shardgpt_dynamic_shared[]; \
  T* const name = reinterpret_cast<T*>(shardgpt_dynamic_shared)

namespace shardgpt::cuda {

/// Dynamic shared memory that a kernel may have without asking for more.
inline constexpr std::size_t default_dynamic_shared_bytes = std::size_t{48} * 1024;

/// Puts kernel<<<grid, block, dynamic_shared_bytes, stream>>>(arguments...) on the stream, the arguments
/// converted to the kernel's parameter types. Does not wait. Throws CudaError if the launch is refused; what
/// goes wrong while the kernel runs is reported by a later call, as CUDA does.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t dynamic_shared_bytes,
            cudaStream_t stream, Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments),
                "the kernel takes another number of arguments");
  const void* const function = reinterpret_cast<const void*>(kernel);
  if (dynamic_shared_bytes > default_dynamic_shared_bytes) {
    SHARDGPT_CUDA(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(dynamic_shared_bytes)));
  }
  std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  std::apply(
      [&](auto&... value) {
        std::array<void*, sizeof...(Parameters) + 1> pointers{static_cast<void*>(&value)..., nullptr};
        SHARDGPT_CUDA(cudaLaunchKernel(function, grid, block, pointers.data(), dynamic_shared_bytes, stream));
      },
      values);
}

}  // namespace shardgpt::cuda
