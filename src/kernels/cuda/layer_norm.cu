#include "kernels/cuda/element.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/row_kernels.hpp"

namespace shardgpt::cuda {
namespace {

constexpr int forward_warps = 4;

/// One warp per row. The row, as rounded, is kept in shared memory between the passes; each lane reads only
/// what it wrote there itself.
template <class T>
__global__ void __launch_bounds__(forward_warps* warp_lanes)
    layer_norm_forward_kernel(LayerNormForwardArgs<T> a) {
  SHARDGPT_DYNAMIC_SHARED(T, kept_rows);
  const std::int64_t row = block_index() * forward_warps + warp_index();
  if (row >= a.rows) {
    return;  // a whole warp, and no barrier of the block follows
  }
  T* kept = kept_rows + warp_index() * a.channels;
  const int first = lane_index() * vector_size;
  constexpr int step = warp_lanes * vector_size;
  const std::int64_t offset = row * a.channels;
  float sum = 0;
  for (int c = first; c < a.channels; c += step) {
    Vector8 x = load8(a.residual_in + offset + c);
    if (a.branch != nullptr) {
      add8(x, load8(a.branch + offset + c));
    }
    store8(kept + c, x);
    if (a.residual_out != nullptr) {
      store8(a.residual_out + offset + c, x);
    }
    x = load8(kept + c);  // the statistics are of what backward will read
#pragma unroll
    for (float value : x.v) {
      sum += value;
    }
  }
  const float mean = warp_sum(sum) / static_cast<float>(a.channels);
  float squares = 0;
  for (int c = first; c < a.channels; c += step) {
    const Vector8 x = load8(kept + c);
#pragma unroll
    for (float value : x.v) {
      squares += (value - mean) * (value - mean);
    }
  }
  const float rstd = 1.0F / sqrtf(warp_sum(squares) / static_cast<float>(a.channels) + a.epsilon);
  for (int c = first; c < a.channels; c += step) {
    Vector8 x = load8(kept + c);
    const Vector8 weight = load8(a.weight + c);
    const Vector8 bias = load8(a.bias + c);
#pragma unroll
    for (int i = 0; i < vector_size; ++i) {
      x.v[i] = (x.v[i] - mean) * rstd * weight.v[i] + bias.v[i];
    }
    store8(a.out + offset + c, x);
  }
  if (lane_index() == 0) {
    a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

/// What layer norm's backward pass reads of one row.
struct BackwardRow {
  Vector8 dout;
  Vector8 normalised;
  float rstd;
};

template <class T>
[[nodiscard]] __device__ inline BackwardRow load_row(const LayerNormBackwardArgs<T>& a, std::int64_t row,
                                                     int channel) {
  const float mean = a.mean[row];
  BackwardRow result{load8(a.dout + row * a.channels + channel), load8(a.input + row * a.channels + channel),
                     a.rstd[row]};
#pragma unroll
  for (float& value : result.normalised.v) {
    value = (value - mean) * result.rstd;
  }
  return result;
}

/// A block walks over layer_norm_part_rows rows; a thread owns eight channels of all of them and so sums
/// their weight gradients in registers. The next row is loaded before the barrier that the current one waits
/// at.
template <class T>
__global__ void __launch_bounds__(most_channels / vector_size)
    layer_norm_backward_kernel(LayerNormBackwardArgs<T> a) {
  // Two sums per warp. Rows alternate between two copies, so that one barrier per row is enough: who writes a
  // copy again has passed the barrier of the row between, which everyone reaches after reading it.
  SHARDGPT_SHARED_ARRAY(float, warp_sums, [2][2][warp_lanes]);
  const int channel = thread_index() * vector_size;
  const bool active = channel < a.channels;
  const std::int64_t first = block_index() * layer_norm_part_rows;
  const std::int64_t last = first + layer_norm_part_rows < a.rows ? first + layer_norm_part_rows : a.rows;
  const Vector8 weight = active ? load8(a.weight + channel) : Vector8{};
  Vector8 dweight{};
  Vector8 dbias{};
  BackwardRow next = active ? load_row(a, first, channel) : BackwardRow{};
  for (std::int64_t row = first; row < last; ++row) {
    const BackwardRow x = next;
    Vector8 arrived{};
    if (active && a.dresidual_in != nullptr) {
      arrived = load8(a.dresidual_in + row * a.channels + channel);
    }
    if (active && row + 1 < last) {
      next = load_row(a, row + 1, channel);
    }
    float sum = 0;
    float projected = 0;
#pragma unroll
    for (int i = 0; i < vector_size; ++i) {
      dweight.v[i] += x.dout.v[i] * x.normalised.v[i];
      dbias.v[i] += x.dout.v[i];
      sum += x.dout.v[i] * weight.v[i];
      projected += x.dout.v[i] * weight.v[i] * x.normalised.v[i];
    }
    sum = warp_sum(sum);
    projected = warp_sum(projected);
    const int copy = static_cast<int>(row - first) % 2;
    if (lane_index() == 0) {
      warp_sums[copy][0][warp_index()] = sum;
      warp_sums[copy][1][warp_index()] = projected;
    }
    __syncthreads();
    sum = 0;
    projected = 0;
    for (int warp = 0; warp < block_warps(); ++warp) {
      sum += warp_sums[copy][0][warp];
      projected += warp_sums[copy][1][warp];
    }
    sum /= static_cast<float>(a.channels);
    projected /= static_cast<float>(a.channels);
    if (active) {
#pragma unroll
      for (int i = 0; i < vector_size; ++i) {
        arrived.v[i] += x.rstd * (x.dout.v[i] * weight.v[i] - sum - x.normalised.v[i] * projected);
      }
      store8(a.dresidual_out + row * a.channels + channel, arrived);
    }
  }
  if (active) {
    float* parts = a.parts + block_index() * 2 * a.channels + channel;
    store8(parts, dweight);
    store8(parts + a.channels, dbias);
  }
}

}  // namespace

template <class T>
void layer_norm_forward(cudaStream_t stream, const LayerNormForwardArgs<T>& args) {
  if (args.rows > 0) {
    const std::size_t shared_bytes = sizeof(T) * forward_warps * static_cast<std::size_t>(args.channels);
    launch(layer_norm_forward_kernel<T>, extent(ceil_div(args.rows, std::int64_t{forward_warps})),
           extent(forward_warps * warp_lanes), shared_bytes, stream, args);
  }
}

template <class T>
void layer_norm_backward(cudaStream_t stream, const LayerNormBackwardArgs<T>& args) {
  if (args.rows > 0) {
    launch(layer_norm_backward_kernel<T>, extent(ceil_div(args.rows, layer_norm_part_rows)),
           row_threads(args.channels / vector_size, most_channels / vector_size), 0, stream, args);
  }
}

template void layer_norm_forward(cudaStream_t, const LayerNormForwardArgs<float>&);
template void layer_norm_forward(cudaStream_t, const LayerNormForwardArgs<__nv_bfloat16>&);
template void layer_norm_backward(cudaStream_t, const LayerNormBackwardArgs<float>&);
template void layer_norm_backward(cudaStream_t, const LayerNormBackwardArgs<__nv_bfloat16>&);

}  // namespace shardgpt::cuda
