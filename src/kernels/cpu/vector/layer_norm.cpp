#include "kernels/cpu/vector/parts.hpp"

SHARDGPT_VECTOR_BEGIN
namespace {

template <class T>
float sum_of(std::int64_t channels, const T* x) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < channels; ++c) {
    sum += load(x[c]);
  }
  return sum;
}

template <class T>
float squared_deviation(std::int64_t channels, const T* x, float mean) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < channels; ++c) {
    const float deviation = load(x[c]) - mean;
    sum += deviation * deviation;
  }
  return sum;
}

template <class T>
void forward(const LayerNormForwardRows<T>& a) {
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const std::int64_t first = row * a.channels;
    const T* x = a.residual_in + first;
    if (a.residual_out != nullptr) {
      T* sum = a.residual_out + first;
      for (std::int64_t c = 0; a.branch != nullptr && c < a.channels; ++c) {
        store(sum[c], load(x[c]) + load(a.branch[first + c]));
      }
      for (std::int64_t c = 0; a.branch == nullptr && c < a.channels; ++c) {
        sum[c] = x[c];
      }
      x = sum;
    }
    const auto width = static_cast<float>(a.channels);
    const float mean = sum_of(a.channels, x) / width;
    const float variance = squared_deviation(a.channels, x, mean) / width;
    const float rstd = 1.0F / __builtin_sqrtf(variance + static_cast<float>(a.epsilon));
    T* out = a.out + first;
#pragma omp simd
    for (std::int64_t c = 0; c < a.channels; ++c) {
      store(out[c], (load(x[c]) - mean) * rstd * load(a.weight[c]) + load(a.bias[c]));
    }
    a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

template <class T>
void backward(const LayerNormBackwardRows<T>& a) {
  for (std::int64_t c = 0; c < a.channels; ++c) {
    a.dweight[c] = 0;
    a.dbias[c] = 0;
  }
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const std::int64_t first = row * a.channels;
    const T* dout = a.dout + first;
    const T* x = a.input + first;
    const float mean = a.mean[row];
    const float rstd = a.rstd[row];
    float sum = 0;
    float projected = 0;
#pragma omp simd reduction(+ : sum, projected)
    for (std::int64_t c = 0; c < a.channels; ++c) {
      const float gradient = load(dout[c]);
      const float normalised = (load(x[c]) - mean) * rstd;
      const float scaled = gradient * load(a.weight[c]);
      sum += scaled;
      projected += scaled * normalised;
      a.dweight[c] += gradient * normalised;
      a.dbias[c] += gradient;
    }
    sum /= static_cast<float>(a.channels);
    projected /= static_cast<float>(a.channels);
    T* dx = a.dresidual_out + first;
    const auto own = [&](std::int64_t c) __attribute__((always_inline)) {
      return rstd * (load(dout[c]) * load(a.weight[c]) - sum - (load(x[c]) - mean) * rstd * projected);
    };
    if (a.dresidual_in != nullptr) {
      const T* arrived = a.dresidual_in + first;
#pragma omp simd
      for (std::int64_t c = 0; c < a.channels; ++c) {
        store(dx[c], load(arrived[c]) + own(c));
      }
    } else {
#pragma omp simd
      for (std::int64_t c = 0; c < a.channels; ++c) {
        store(dx[c], own(c));
      }
    }
  }
}

}  // namespace

void fill_layer_norm(VectorKernels& kernels) {
  kernels.f32.layer_norm_forward = forward<float>;
  kernels.f32.layer_norm_backward = backward<float>;
  kernels.bf16.layer_norm_forward = forward<std::uint16_t>;
  kernels.bf16.layer_norm_backward = backward<std::uint16_t>;
}

SHARDGPT_VECTOR_END
