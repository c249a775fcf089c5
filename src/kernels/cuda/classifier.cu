#include <cfloat>

#include "kernels/cuda/classifier_kernels.hpp"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/reduce.cuh"

namespace shardgpt::cuda {
namespace {

constexpr int softmax_threads = 512;
constexpr int softmax_warps = softmax_threads / warp_lanes;
constexpr int loss_threads = 256;

/// Largest value so far and the sum of exp(value - largest). Starts from a finite number, so that combining
/// two empty ones is no difference of infinities.
struct RunningSoftmax {
  float largest = -FLT_MAX;
  float sum = 0;

  __device__ void combine(float other_largest, float other_sum) {
    const float both = fmaxf(largest, other_largest);
    sum = sum * expf(largest - both) + other_sum * expf(other_largest - both);
    largest = both;
  }
  /// The first `count` of eight values.
  __device__ void add(const Vector8& x, std::int64_t count) {
    float both = largest;
#pragma unroll
    for (int i = 0; i < vector_size; ++i) {
      both = i < count ? fmaxf(both, x.v[i]) : both;
    }
    sum *= expf(largest - both);
    largest = both;
#pragma unroll
    for (int i = 0; i < vector_size; ++i) {
      sum += i < count ? expf(x.v[i] - both) : 0.0F;
    }
  }
};

/// Of one row of logits; the same bits on every thread of the block.
[[nodiscard]] __device__ inline RunningSoftmax softmax_of_row(const float* logits, std::int64_t vocab) {
  SHARDGPT_SHARED_ARRAY(float, warp_largest, [softmax_warps]);
  SHARDGPT_SHARED_ARRAY(float, warp_sums, [softmax_warps]);
  RunningSoftmax own;
  for (std::int64_t v = thread_index() * vector_size; v < vocab; v += softmax_threads * vector_size) {
    own.add(load8(logits + v), vocab - v);
  }
#pragma unroll
  for (int step = warp_lanes / 2; step > 0; step /= 2) {
    const float largest = __shfl_xor_sync(all_lanes, own.largest, step);
    const float sum = __shfl_xor_sync(all_lanes, own.sum, step);
    own.combine(largest, sum);
  }
  if (lane_index() == 0) {
    warp_largest[warp_index()] = own.largest;
    warp_sums[warp_index()] = own.sum;
  }
  __syncthreads();
  RunningSoftmax all{warp_largest[0], warp_sums[0]};
  for (int warp = 1; warp < softmax_warps; ++warp) {
    all.combine(warp_largest[warp], warp_sums[warp]);
  }
  return all;
}

/// One block per row. The second pass over the logits finds them in the L2 cache.
template <class T>
__global__ void __launch_bounds__(softmax_threads) softmax_loss_kernel(SoftmaxLossArgs<T> a) {
  const std::int64_t row = block_index();
  const float* logits = a.logits + row * a.padded_vocab;
  const std::int64_t target = a.targets[row];
  const bool counts = target >= 0;  // the whole block alike
  RunningSoftmax softmax;
  if (counts) {
    softmax = softmax_of_row(logits, a.vocab);
  }
  if (thread_index() == 0) {
    a.losses[row] = counts ? static_cast<double>(softmax.largest) + log(static_cast<double>(softmax.sum)) -
                                 static_cast<double>(logits[target])
                           : 0.0;
  }
  if (a.dlogits == nullptr) {
    return;
  }
  __syncthreads();  // the loss is read before float gradients replace the logits
  const float inverse_sum = 1.0F / softmax.sum;
  T* dlogits = a.dlogits + row * a.padded_vocab;
  for (std::int64_t v = thread_index() * vector_size; v < a.padded_vocab;
       v += softmax_threads * vector_size) {
    Vector8 x{};
    if (counts) {
      x = load8(logits + v);
#pragma unroll
      for (int i = 0; i < vector_size; ++i) {
        const float probability = expf(x.v[i] - softmax.largest) * inverse_sum;
        x.v[i] = v + i >= a.vocab ? 0.0F : v + i == target ? probability - 1.0F : probability;
      }
    }
    store8(dlogits + v, x);
  }
}

__global__ void __launch_bounds__(loss_threads)
    add_losses_kernel(std::int64_t rows, const double* losses, const std::int32_t* targets, StepSums* sums) {
  SHARDGPT_SHARED_ARRAY(double, loss_parts, [warp_lanes]);
  SHARDGPT_SHARED_ARRAY(double, target_parts, [warp_lanes]);
  double loss = 0;
  double count = 0;
  for (std::int64_t row = thread_index(); row < rows; row += loss_threads) {
    loss += losses[row];
    count += targets[row] >= 0 ? 1.0 : 0.0;
  }
  const double all_losses = block_sum_on_first(loss, loss_parts);
  const double all_targets = block_sum_on_first(count, target_parts);
  if (thread_index() == 0) {
    sums->loss += all_losses;
    sums->targets += all_targets;
  }
}

__global__ void copy_columns_kernel(const float* from, std::int64_t from_cols, float* to,
                                    std::int64_t to_cols) {
  const std::int64_t row = block_index();
  for (std::int64_t column = thread_index(); column < to_cols; column += block_threads()) {
    to[row * to_cols + column] = from[row * from_cols + column];
  }
}

}  // namespace

template <class T>
void softmax_loss(cudaStream_t stream, const SoftmaxLossArgs<T>& args) {
  if (args.rows > 0) {
    launch(softmax_loss_kernel<T>, extent(args.rows), extent(softmax_threads), 0, stream, args);
  }
}

void add_losses(cudaStream_t stream, std::int64_t rows, const double* losses, const std::int32_t* targets,
                StepSums* sums) {
  if (rows > 0) {
    launch(add_losses_kernel, extent(1), extent(loss_threads), 0, stream, rows, losses, targets, sums);
  }
}

void copy_columns(cudaStream_t stream, std::int64_t rows, const float* from, std::int64_t from_cols,
                  float* to, std::int64_t to_cols) {
  if (rows > 0 && to_cols > 0) {
    launch(copy_columns_kernel, extent(rows), row_threads(to_cols, 256), 0, stream, from, from_cols, to,
           to_cols);
  }
}

template void softmax_loss(cudaStream_t, const SoftmaxLossArgs<float>&);
template void softmax_loss(cudaStream_t, const SoftmaxLossArgs<__nv_bfloat16>&);

}  // namespace shardgpt::cuda
