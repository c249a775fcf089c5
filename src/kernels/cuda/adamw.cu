#include "kernels/cuda/grid.cuh"
#include "kernels/cuda/optimizer_kernels.hpp"

namespace shardgpt::cuda {
namespace {

constexpr int adamw_threads = 256;

/// AdamWPiece and StepScalars in the form the element loop uses, worked out in double.
struct Coefficients {
  float grad_scale;
  float beta1;
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float step_size;
  float inverse_correction2;
  float eps;
  float decay;
};

__device__ inline Coefficients coefficients_of(const AdamWPiece& piece, const StepScalars& scalars) {
  const auto step = static_cast<double>(scalars.adam_step);
  const double correction1 = 1.0 - pow(piece.beta1, step);
  const double correction2 = 1.0 - pow(piece.beta2, step);
  return {static_cast<float>(scalars.grad_scale),
          static_cast<float>(piece.beta1),
          static_cast<float>(1.0 - piece.beta1),
          static_cast<float>(piece.beta2),
          static_cast<float>(1.0 - piece.beta2),
          static_cast<float>(piece.lr / correction1),
          static_cast<float>(1.0 / correction2),
          static_cast<float>(piece.eps),
          static_cast<float>(piece.lr * piece.weight_decay)};
}

__global__ void __launch_bounds__(adamw_threads) adamw_kernel(AdamWPiece piece, const StepScalars* scalars) {
  SHARDGPT_SHARED_ARRAY(Coefficients, shared, [1]);
  if (scalars->applied == 0) {
    return;  // every thread of every block alike
  }
  if (thread_index() == 0) {
    shared[0] = coefficients_of(piece, *scalars);
  }
  __syncthreads();
  const Coefficients a = shared[0];
  for (std::int64_t i = global_thread_index(); i < piece.count; i += global_threads()) {
    const float gradient = piece.grad[i] * a.grad_scale;
    const float m = a.beta1 * piece.adam_m[i] + a.one_minus_beta1 * gradient;
    const float v = a.beta2 * piece.adam_v[i] + a.one_minus_beta2 * gradient * gradient;
    const float param = piece.param[i];
    piece.adam_m[i] = m;
    piece.adam_v[i] = v;
    const float update = a.step_size * m / (sqrtf(v * a.inverse_correction2) + a.eps);
    piece.param[i] = param - (a.decay * param + update);
  }
}

}  // namespace

void adamw(cudaStream_t stream, const AdamWPiece& piece, const StepScalars* scalars) {
  if (piece.count > 0) {
    launch(adamw_kernel, covering_blocks(piece.count, adamw_threads), extent(adamw_threads), 0, stream, piece,
           scalars);
  }
}

}  // namespace shardgpt::cuda
