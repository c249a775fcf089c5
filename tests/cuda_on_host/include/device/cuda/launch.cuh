#pragma once

/// Stands in for src/device/cuda/launch.cuh where kernel sources are compiled for the host: the same
/// declarations.

#include <cstddef>
#include <tuple>
#include <utility>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "device/cuda/cuda_check.hpp"
#include "tests/cuda_on_host/exec/engine.hpp"
#include "tests/cuda_on_host/exec/intrinsics.hpp"
#include "tests/cuda_on_host/exec/kernel_calls.hpp"
#include "tests/cuda_on_host/runtime/queue.hpp"

#define SHARDGPT_SHARED_ARRAY(T, name, ...)       \
  using name##_shared_type = T __VA_ARGS__;       \
  static constexpr char name##_shared_key = 0;    \
  auto& name = *static_cast<name##_shared_type*>( \
      ::cuda_on_host::shared_array(&name##_shared_key, sizeof(name##_shared_type)))

#define SHARDGPT_DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(::cuda_on_host::dynamic_shared())

namespace shardgpt::cuda {

inline constexpr std::size_t default_dynamic_shared_bytes = std::size_t{48} * 1024;

/// Refuses what every GPU refuses.
inline cudaError_t check_launch(const dim3& grid, const dim3& block, std::size_t dynamic_shared_bytes) {
  constexpr unsigned max_grid_yz = 65535;
  constexpr unsigned max_block_z = 64;
  const bool empty =
      grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0;
  if (empty || grid.x > 0x7fffffffU || grid.y > max_grid_yz || grid.z > max_grid_yz ||
      block.z > max_block_z ||
      std::size_t{block.x} * block.y * block.z > cuda_on_host::max_threads_of_block) {
    return cudaErrorInvalidConfiguration;
  }
  return dynamic_shared_bytes > cuda_on_host::max_dynamic_shared_bytes ? cudaErrorInvalidValue : cudaSuccess;
}

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t dynamic_shared_bytes,
            cudaStream_t stream, Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments),
                "the kernel takes another number of arguments");
  SHARDGPT_CUDA(check_launch(grid, block, dynamic_shared_bytes));
  struct Call {
    void (*kernel)(Parameters...);
    std::tuple<Parameters...> values;
  };
  cuda_on_host::enqueue(
      stream,
      [grid, block, dynamic_shared_bytes,
       call = Call{kernel, std::tuple<Parameters...>(std::forward<Arguments>(arguments)...)}]() mutable {
        // Each thread has parameters of its own: apply copies them.
        const auto entry = [](void* opaque) {
          auto& own = *static_cast<Call*>(opaque);
          std::apply(own.kernel, own.values);
        };
        cuda_on_host::run({grid, block, dynamic_shared_bytes, entry, &call, sizeof call});
      });
}

}  // namespace shardgpt::cuda
