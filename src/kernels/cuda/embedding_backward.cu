#include <bit>

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/embedding_backward.hpp"
#include "kernels/cuda/reduce.cuh"

namespace shardgpt::cuda {
namespace {

// Positions are sorted as 64-bit keys: token id above, position below. No two are equal, so every correct
// sort gives the same order. The sort is bitonic (Batcher 1968): steps within a chunk run in shared memory,
// those across chunks on global memory.
using Key = unsigned long long;
constexpr Key no_key = ~Key{0};
constexpr int sort_threads = 512;
constexpr std::int64_t chunk_keys = 2 * sort_threads;

/// Position in the keys of the pair that `thread` compares at distance `stride`, a power of two.
[[nodiscard]] __device__ inline std::int64_t first_of_pair(std::int64_t thread, std::int64_t stride) {
  return 2 * stride * (thread / stride) + thread % stride;
}

/// Puts the pair in order: runs of `run` keys ascend and descend in turn.
__device__ inline void order_pair(Key& first, Key& second, std::int64_t position, std::int64_t run) {
  const bool ascending = position / run % 2 == 0;
  if ((first > second) == ascending) {
    const Key kept = first;
    first = second;
    second = kept;
  }
}

/// Orders the pairs of one chunk for every run length from `first_run` to `last_run`, at the strides that
/// stay within the chunk. `position`: of the chunk's first key.
__device__ inline void sort_in_chunk(Key* chunk, std::int64_t position, std::int64_t first_run,
                                     std::int64_t last_run) {
  for (std::int64_t run = first_run; run <= last_run; run *= 2) {
    for (std::int64_t stride = (run < chunk_keys ? run : chunk_keys) / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const std::int64_t i = first_of_pair(thread_index(), stride);
      order_pair(chunk[i], chunk[i + stride], position + i, run);
    }
  }
  __syncthreads();
}

/// Makes the keys of one chunk and sorts them; what is past the last token sorts to the end.
__global__ void __launch_bounds__(sort_threads)
    make_sorted_chunks_kernel(std::int64_t count, const std::int32_t* tokens, Key* keys) {
  SHARDGPT_SHARED_ARRAY(Key, chunk, [chunk_keys]);
  const std::int64_t first = block_index() * chunk_keys;
  for (std::int64_t i = thread_index(); i < chunk_keys; i += sort_threads) {
    const std::int64_t position = first + i;
    chunk[i] =
        position < count ? static_cast<Key>(tokens[position]) << 32U | static_cast<Key>(position) : no_key;
  }
  sort_in_chunk(chunk, first, 2, chunk_keys);
  for (std::int64_t i = thread_index(); i < chunk_keys; i += sort_threads) {
    keys[first + i] = chunk[i];
  }
}

/// One step across chunks.
__global__ void __launch_bounds__(sort_threads)
    merge_step_kernel(std::int64_t stride, std::int64_t run, Key* keys) {
  const std::int64_t i = first_of_pair(global_thread_index(), stride);
  order_pair(keys[i], keys[i + stride], i, run);
}

/// The steps of run length `run` that stay within a chunk.
__global__ void __launch_bounds__(sort_threads) merge_chunks_kernel(std::int64_t run, Key* keys) {
  SHARDGPT_SHARED_ARRAY(Key, chunk, [chunk_keys]);
  const std::int64_t first = block_index() * chunk_keys;
  for (std::int64_t i = thread_index(); i < chunk_keys; i += sort_threads) {
    chunk[i] = keys[first + i];
  }
  sort_in_chunk(chunk, first, run, run);
  for (std::int64_t i = thread_index(); i < chunk_keys; i += sort_threads) {
    keys[first + i] = chunk[i];
  }
}

constexpr int gather_warps = 8;

/// A warp per sorted key and slice of 256 channels; the warp of a token's first key adds up all its rows.
template <class T>
__global__ void __launch_bounds__(gather_warps* warp_lanes)
    add_token_rows_kernel(std::int64_t count, std::int64_t channels, const Key* keys, const T* dout,
                          float* dwte) {
  const std::int64_t first = block_index() * gather_warps + warp_index();
  if (first >= count) {
    return;
  }
  const Key token = keys[first] >> 32U;
  if (first > 0 && keys[first - 1] >> 32U == token) {
    return;  // not the token's first key
  }
  const std::int64_t channel =
      (static_cast<std::int64_t>(blockIdx.y) * warp_lanes + lane_index()) * vector_size;
  Vector8 sum{};
  int same = warp_lanes;  // keys of this token among the last 32
  for (std::int64_t base = first; same == warp_lanes; base += warp_lanes) {
    const Key mine = base + lane_index() < count ? keys[base + lane_index()] : no_key;
    const auto position = static_cast<unsigned>(mine & 0xffffffffU);
    same = warp_sum(mine >> 32U == token ? 1 : 0);  // they come first, the keys are sorted
#pragma unroll 4
    for (int i = 0; i < same; ++i) {
      const std::int64_t row = __shfl_sync(all_lanes, position, i);
      if (channel < channels) {
        add8(sum, load8(dout + row * channels + channel));
      }
    }
  }
  if (channel < channels) {
    float* to = dwte + static_cast<std::int64_t>(token) * channels + channel;
    add8(sum, load8(to));
    store8(to, sum);
  }
}

template <class T>
__global__ void add_position_rows_kernel(BatchShape shape, int channels, const T* dout, float* dwpe) {
  const std::int64_t position = block_index();
  for (int c = thread_index() * vector_size; c < channels; c += block_threads() * vector_size) {
    Vector8 sum{};
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      add8(sum, load8(dout + (row * shape.seq_len + position) * channels + c));
    }
    float* to = dwpe + position * channels + c;
    add8(sum, load8(to));
    store8(to, sum);
  }
}

/// Keys that are sorted for `tokens` tokens: a power of two, one chunk at least.
[[nodiscard]] std::int64_t key_count(std::int64_t tokens) {
  const std::int64_t needed = tokens < chunk_keys ? chunk_keys : tokens;
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(needed)));
}

void sort_positions(cudaStream_t stream, std::int64_t count, const std::int32_t* tokens, Key* keys) {
  const std::int64_t total = key_count(count);
  const dim3 blocks = extent(total / chunk_keys);
  const dim3 threads = extent(sort_threads);
  launch(make_sorted_chunks_kernel, blocks, threads, 0, stream, count, tokens, keys);
  for (std::int64_t run = 2 * chunk_keys; run <= total; run *= 2) {
    for (std::int64_t stride = run / 2; stride >= chunk_keys; stride /= 2) {
      launch(merge_step_kernel, blocks, threads, 0, stream, stride, run, keys);
    }
    launch(merge_chunks_kernel, blocks, threads, 0, stream, run, keys);
  }
}

}  // namespace

std::size_t embedding_workspace_bytes(std::int64_t tokens) {
  return static_cast<std::size_t>(key_count(tokens)) * sizeof(Key);
}

template <class T>
void embedding_backward(cudaStream_t stream, BatchShape shape, std::int64_t channels,
                        const std::int32_t* tokens, const T* dout, float* dwte, float* dwpe,
                        void* workspace) {
  const std::int64_t count = shape.tokens();
  if (count == 0) {
    return;
  }
  auto* keys = static_cast<Key*>(workspace);
  sort_positions(stream, count, tokens, keys);
  constexpr std::int64_t slice = warp_lanes * vector_size;
  launch(add_token_rows_kernel<T>,
         extent(ceil_div(count, std::int64_t{gather_warps}), ceil_div(channels, slice)),
         extent(gather_warps * warp_lanes), 0, stream, count, channels, keys, dout, dwte);
  launch(add_position_rows_kernel<T>, extent(shape.seq_len), row_threads(channels / vector_size, 256), 0,
         stream, shape, channels, dout, dwpe);
}

template void embedding_backward(cudaStream_t, BatchShape, std::int64_t, const std::int32_t*, const float*,
                                 float*, float*, void*);
template void embedding_backward(cudaStream_t, BatchShape, std::int64_t, const std::int32_t*,
                                 const __nv_bfloat16*, float*, float*, void*);

}  // namespace shardgpt::cuda
