#include "kernels/cuda/element.cuh"
#include "kernels/cuda/grid.cuh"
#include "kernels/cuda/row_kernels.hpp"

namespace shardgpt::cuda {
namespace {

// gelu(x) = x/2 * (1 + tanh(scale * (x + cubic * x^3))), scale = sqrt(2 / pi).
constexpr float gelu_scale = 0.7978845608F;
constexpr float gelu_cubic = 0.044715F;
constexpr int gelu_threads = 256;

struct Gelu {
  __device__ float operator()(float x, float /*unused*/) const {
    return 0.5F * x * (1.0F + tanhf(gelu_scale * (x + gelu_cubic * x * x * x)));
  }
};

struct GeluBackward {
  __device__ float operator()(float x, float dout) const {
    if (fabsf(x) > 10.0F) {  // saturated; x^3 may be infinite, times a slope of zero. A NaN goes on below.
      return x > 0 ? dout : 0.0F;
    }
    const float tanh = tanhf(gelu_scale * (x + gelu_cubic * x * x * x));
    const float slope = (1.0F - tanh * tanh) * gelu_scale * (1.0F + 3.0F * gelu_cubic * x * x);
    return dout * (0.5F * (1.0F + tanh) + 0.5F * x * slope);
  }
};

/// out[i] = function(x[i], y[i]), eight at a time; the elements after the last eight are done one by one.
template <class T, class Function>
__global__ void __launch_bounds__(gelu_threads)
    map_kernel(std::int64_t count, const T* x, const T* y, T* out, Function function) {
  const std::int64_t vectors = count / vector_size;
  for (std::int64_t i = global_thread_index(); i < vectors; i += global_threads()) {
    Vector8 a = load8(x + i * vector_size);
    const Vector8 b = load8(y + i * vector_size);
#pragma unroll
    for (int k = 0; k < vector_size; ++k) {
      a.v[k] = function(a.v[k], b.v[k]);
    }
    store8(out + i * vector_size, a);
  }
  const std::int64_t rest = vectors * vector_size + global_thread_index();
  if (rest < count) {
    out[rest] = from_float<T>(function(to_float(x[rest]), to_float(y[rest])));
  }
}

template <class T, class Function>
void map(cudaStream_t stream, std::int64_t count, const T* x, const T* y, T* out, Function function) {
  if (count > 0) {
    launch(map_kernel<T, Function>, covering_blocks(ceil_div(count, std::int64_t{vector_size}), gelu_threads),
           extent(gelu_threads), 0, stream, count, x, y, out, function);
  }
}

}  // namespace

template <class T>
void gelu_forward(cudaStream_t stream, std::int64_t count, const T* pre, T* out) {
  map(stream, count, pre, pre, out, Gelu{});
}

template <class T>
void gelu_backward(cudaStream_t stream, std::int64_t count, const T* pre, const T* dout, T* dpre) {
  map(stream, count, pre, dout, dpre, GeluBackward{});
}

template void gelu_forward(cudaStream_t, std::int64_t, const float*, float*);
template void gelu_forward(cudaStream_t, std::int64_t, const __nv_bfloat16*, __nv_bfloat16*);
template void gelu_backward(cudaStream_t, std::int64_t, const float*, const float*, float*);
template void gelu_backward(cudaStream_t, std::int64_t, const __nv_bfloat16*, const __nv_bfloat16*,
                            __nv_bfloat16*);

}  // namespace shardgpt::cuda
