#include "kernels/cpu/vector/parts.hpp"

SHARDGPT_VECTOR_BEGIN
namespace {

/// Three passes over a row that stays in the second-level cache. A NaN or an infinite logit makes the loss
/// NaN.
template <class T>
double softmax_loss(const SoftmaxRow<T>& a) {
  float* x = a.logits;
  float largest = x[0];
#pragma omp simd reduction(max : largest)
  for (std::int64_t v = 0; v < a.vocab; ++v) {
    largest = larger(x[v], largest);
  }
  const float target_logit = x[a.target];
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t v = 0; v < a.vocab; ++v) {
    const float weight = exp_of(x[v] - largest);
    x[v] = weight;
    sum += weight;
  }
  const double loss = __builtin_log(static_cast<double>(sum)) + static_cast<double>(largest) -
                      static_cast<double>(target_logit);
  if (a.dlogits == nullptr) {
    return loss;
  }
  const float inverse = 1.0F / sum;
  const float target_gradient = x[a.target] * inverse - 1.0F;
  T* dlogits = a.dlogits;
#pragma omp simd
  for (std::int64_t v = 0; v < a.vocab; ++v) {
    store(dlogits[v], x[v] * inverse);
  }
  for (std::int64_t v = a.vocab; v < a.padded_vocab; ++v) {
    dlogits[v] = 0;
  }
  store(dlogits[a.target], target_gradient);
  return loss;
}

}  // namespace

void fill_softmax(VectorKernels& kernels) {
  kernels.f32.softmax_loss = softmax_loss<float>;
  kernels.bf16.softmax_loss = softmax_loss<std::uint16_t>;
}

SHARDGPT_VECTOR_END
