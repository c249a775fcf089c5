#include "kernels/cpu/vector/parts.hpp"

SHARDGPT_VECTOR_BEGIN
namespace {

double sum_of_squares(std::int64_t count, const float* values) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(values[i]);
    sum += value * value;
  }
  return sum;
}

void adamw(std::int64_t count, const AdamWCoefficients& coefficients, const float* grad, float* param,
           float* adam_m, float* adam_v) {
  const AdamWCoefficients a = coefficients;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float gradient = grad[i] * a.grad_scale;
    const float m = a.beta1 * adam_m[i] + a.one_minus_beta1 * gradient;
    const float v = a.beta2 * adam_v[i] + a.one_minus_beta2 * gradient * gradient;
    adam_m[i] = m;
    adam_v[i] = v;
    const float update = a.step_size * m / (__builtin_sqrtf(v * a.inverse_correction2) + a.eps);
    param[i] = param[i] - (a.decay * param[i] + update);
  }
}

}  // namespace

void fill_optimizer(VectorKernels& kernels) {
  kernels.sum_of_squares = sum_of_squares;
  kernels.adamw = adamw;
}

SHARDGPT_VECTOR_END
