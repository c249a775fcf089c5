#include "kernels/cuda/element.cuh"
#include "kernels/cuda/grid.cuh"
#include "kernels/cuda/row_kernels.hpp"

namespace shardgpt::cuda {
namespace {

template <class T>
__global__ void embedding_forward_kernel(std::int64_t seq_len, int channels, const std::int32_t* tokens,
                                         const T* wte, const T* wpe, T* out) {
  const std::int64_t row = block_index();
  const T* token_row = wte + std::int64_t{tokens[row]} * channels;
  const T* position_row = wpe + row % seq_len * channels;
  for (int c = thread_index() * vector_size; c < channels; c += block_threads() * vector_size) {
    Vector8 sum = load8(token_row + c);
    add8(sum, load8(position_row + c));
    store8(out + row * channels + c, sum);
  }
}

}  // namespace

template <class T>
void embedding_forward(cudaStream_t stream, BatchShape shape, std::int64_t channels,
                       const std::int32_t* tokens, const T* wte, const T* wpe, T* out) {
  if (shape.tokens() > 0) {
    launch(embedding_forward_kernel<T>, extent(shape.tokens()), row_threads(channels / vector_size, 256), 0,
           stream, shape.seq_len, channels, tokens, wte, wpe, out);
  }
}

template void embedding_forward(cudaStream_t, BatchShape, std::int64_t, const std::int32_t*, const float*,
                                const float*, float*);
template void embedding_forward(cudaStream_t, BatchShape, std::int64_t, const std::int32_t*,
                                const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*);

}  // namespace shardgpt::cuda
