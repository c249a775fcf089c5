#include <cmath>

#include "kernels/cuda/attention_kernels.hpp"
#include "kernels/cuda/attention_rows.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/reduce.cuh"

namespace shardgpt::cuda {
namespace {

constexpr int plain_warps = 4;
/// Channels of a head that one lane owns: lane, lane + 32, ...
constexpr int lane_channels = static_cast<int>(plain_attention_most_head_dim) / warp_lanes;

struct LaneChannels {
  float v[lane_channels] = {};

  /// v += factor * this lane's channels of `row`.
  template <class T>
  __device__ void add(float factor, const T* row, int head_dim) {
#pragma unroll
    for (int i = 0; i < lane_channels; ++i) {
      const int channel = i * warp_lanes + lane_index();
      if (channel < head_dim) {
        v[i] += factor * to_float(row[channel]);
      }
    }
  }
  template <class T>
  __device__ void store(T* row, float factor, int head_dim) const {
#pragma unroll
    for (int i = 0; i < lane_channels; ++i) {
      const int channel = i * warp_lanes + lane_index();
      if (channel < head_dim) {
        row[channel] = from_float<T>(v[i] * factor);
      }
    }
  }
};

template <class T>
[[nodiscard]] __device__ inline float dot(const T* x, const T* y, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += to_float(x[i]) * to_float(y[i]);
  }
  return sum;
}

/// The row of this warp: a position of one head of one sequence. False: past the last one.
template <class T>
[[nodiscard]] __device__ inline bool find_row(const AttentionArgs<T>& a, HeadRows& head, int& position) {
  const std::int64_t index = block_index() * plain_warps + warp_index();
  if (index >= a.sequences * a.heads * a.seq_len) {
    return false;
  }
  head = head_rows(a, index / a.seq_len);
  position = static_cast<int>(index % a.seq_len);
  return true;
}

/// A warp per query. For 32 keys at a time each lane works out one score, then all lanes add up the values.
template <class T>
__global__ void __launch_bounds__(plain_warps* warp_lanes, 4) forward_kernel(AttentionArgs<T> a) {
  HeadRows head;
  int query = 0;
  if (!find_row(a, head, query)) {
    return;
  }
  const float scale = 1.0F / sqrtf(static_cast<float>(a.head_dim));
  float largest = -INFINITY;
  float sum = 0;
  LaneChannels out;
  for (int first = 0; first <= query; first += warp_lanes) {
    const int key = first + lane_index();
    const float score = key <= query
                            ? scale * dot(a.qkv + head.qkv(query, 0), a.qkv + head.qkv(key, 1), a.head_dim)
                            : -INFINITY;
    const float before = largest;
    largest = fmaxf(largest, warp_max(score));
    const float rescale = expf(before - largest);
    const float probability = expf(score - largest);
    sum = sum * rescale + warp_sum(probability);
#pragma unroll
    for (float& value : out.v) {
      value *= rescale;
    }
    const int count = min(warp_lanes, query + 1 - first);
    for (int i = 0; i < count; ++i) {
      out.add(__shfl_sync(all_lanes, probability, i), a.qkv + head.qkv(first + i, 2), a.head_dim);
    }
  }
  out.store(a.out + head.out(query), 1.0F / sum, a.head_dim);
  if (lane_index() == 0) {
    a.lse[head.first_lse + query] = largest + logf(sum);
  }
}

/// Probability and score gradient of one query and key.
struct Pair {
  float probability = 0;
  float dscore = 0;
};
template <class T>
[[nodiscard]] __device__ inline Pair pair_of(const AttentionArgs<T>& a, const HeadRows& head, int query,
                                             int key, float scale) {
  if (key > query || query >= a.seq_len) {
    return {};
  }
  const float score = scale * dot(a.qkv + head.qkv(query, 0), a.qkv + head.qkv(key, 1), a.head_dim);
  const float dprobability = dot(a.dout + head.out(query), a.qkv + head.qkv(key, 2), a.head_dim);
  const float probability = expf(score - a.lse[head.first_lse + query]);
  return {probability, probability * (dprobability - a.delta[head.first_lse + query])};
}

/// A warp per query.
template <class T>
__global__ void __launch_bounds__(plain_warps* warp_lanes, 4) query_kernel(AttentionArgs<T> a) {
  HeadRows head;
  int query = 0;
  if (!find_row(a, head, query)) {
    return;
  }
  const float scale = 1.0F / sqrtf(static_cast<float>(a.head_dim));
  LaneChannels dq;
  for (int first = 0; first <= query; first += warp_lanes) {
    const Pair mine = pair_of(a, head, query, first + lane_index(), scale);
    const int count = min(warp_lanes, query + 1 - first);
    for (int i = 0; i < count; ++i) {
      dq.add(__shfl_sync(all_lanes, mine.dscore, i), a.qkv + head.qkv(first + i, 1), a.head_dim);
    }
  }
  dq.store(a.dqkv + head.qkv(query, 0), scale, a.head_dim);
}

/// A warp per key.
template <class T>
__global__ void __launch_bounds__(plain_warps* warp_lanes, 4) key_kernel(AttentionArgs<T> a) {
  HeadRows head;
  int key = 0;
  if (!find_row(a, head, key)) {
    return;
  }
  const float scale = 1.0F / sqrtf(static_cast<float>(a.head_dim));
  LaneChannels dk;
  LaneChannels dv;
  for (int first = key; first < a.seq_len; first += warp_lanes) {
    const Pair mine = pair_of(a, head, first + lane_index(), key, scale);
    const int count = min(warp_lanes, a.seq_len - first);
    for (int i = 0; i < count; ++i) {
      dk.add(__shfl_sync(all_lanes, mine.dscore, i), a.qkv + head.qkv(first + i, 0), a.head_dim);
      dv.add(__shfl_sync(all_lanes, mine.probability, i), a.dout + head.out(first + i), a.head_dim);
    }
  }
  dk.store(a.dqkv + head.qkv(key, 1), scale, a.head_dim);
  dv.store(a.dqkv + head.qkv(key, 2), 1.0F, a.head_dim);
}

/// A warp per row of one head.
template <class T>
__global__ void __launch_bounds__(plain_warps* warp_lanes, 4) delta_kernel(AttentionArgs<T> a) {
  HeadRows head;
  int position = 0;
  if (!find_row(a, head, position)) {
    return;
  }
  const T* out = a.out + head.out(position);
  const T* dout = a.dout + head.out(position);
  float sum = 0;
  for (int channel = lane_index(); channel < a.head_dim; channel += warp_lanes) {
    sum += to_float(out[channel]) * to_float(dout[channel]);
  }
  sum = warp_sum(sum);
  if (lane_index() == 0) {
    a.delta[head.first_lse + position] = sum;
  }
}

template <class T>
void launch_rows(void (*kernel)(AttentionArgs<T>), cudaStream_t stream, const AttentionArgs<T>& args) {
  const std::int64_t rows = args.sequences * args.heads * args.seq_len;
  if (rows > 0) {
    launch(kernel, extent(ceil_div(rows, std::int64_t{plain_warps})), extent(plain_warps * warp_lanes), 0,
           stream, args);
  }
}

}  // namespace

template <class T>
void plain_attention_forward(cudaStream_t stream, const AttentionArgs<T>& args) {
  launch_rows(forward_kernel<T>, stream, args);
}

template <class T>
void plain_attention_backward(cudaStream_t stream, const AttentionArgs<T>& args) {
  attention_delta(stream, args);
  launch_rows(query_kernel<T>, stream, args);
  launch_rows(key_kernel<T>, stream, args);
}

template <class T>
void attention_delta(cudaStream_t stream, const AttentionArgs<T>& args) {
  launch_rows(delta_kernel<T>, stream, args);
}

template void plain_attention_forward(cudaStream_t, const AttentionArgs<float>&);
template void plain_attention_forward(cudaStream_t, const AttentionArgs<__nv_bfloat16>&);
template void plain_attention_backward(cudaStream_t, const AttentionArgs<float>&);
template void plain_attention_backward(cudaStream_t, const AttentionArgs<__nv_bfloat16>&);
template void attention_delta(cudaStream_t, const AttentionArgs<float>&);
template void attention_delta(cudaStream_t, const AttentionArgs<__nv_bfloat16>&);

}  // namespace shardgpt::cuda
