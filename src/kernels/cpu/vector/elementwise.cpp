#include "kernels/cpu/vector/parts.hpp"

SHARDGPT_VECTOR_BEGIN
namespace {

template <class T>
void add(std::int64_t count, const T* a, const T* b, T* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    store(out[i], load(a[i]) + load(b[i]));
  }
}

template <class T>
void add_to_sums(std::int64_t count, const T* values, float* sums) {
  for (std::int64_t i = 0; i < count; ++i) {
    sums[i] += load(values[i]);
  }
}

template <class T>
void column_sums(std::int64_t rows, std::int64_t cols, const T* values, float* sums) {
  for (std::int64_t c = 0; c < cols; ++c) {
    sums[c] = 0;
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    add_to_sums(cols, values + row * cols, sums);
  }
}

template <class T>
void to_float(std::int64_t count, const T* values, float* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = load(values[i]);
  }
}

template <class T>
void from_float(std::int64_t count, const float* values, T* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    store(out[i], values[i]);
  }
}

constexpr float gelu_scale = 0.797884560802865356F;  // sqrt(2 / pi)
constexpr float gelu_cubic = 0.044715F;

/// (1 + tanh(u)) / 2 = 1 / (1 + e^-2u) for u = gelu_scale * (x + gelu_cubic * x^3): no cancellation anywhere.
[[gnu::always_inline]] inline float gelu_gate(float x) {
  const float u = gelu_scale * (x + gelu_cubic * x * x * x);
  return 1.0F / (1.0F + exp_of(-2.0F * u));
}

template <class T>
void gelu_forward(std::int64_t count, const T* pre, T* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = load(pre[i]);
    store(out[i], x * gelu_gate(x));
  }
}

template <class T>
void gelu_backward(std::int64_t count, const T* pre, const T* dout, T* dpre) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = load(pre[i]);
    const float gate = gelu_gate(x);
    const float slope = 2.0F * gelu_scale * (1.0F + 3.0F * gelu_cubic * x * x);
    // Where x is large the gate no longer bends, while x^3 could overflow and give inf * 0.
    const float bend = x * x > 400.0F ? 0.0F : x * gate * (1.0F - gate) * slope;
    store(dpre[i], load(dout[i]) * (gate + bend));
  }
}

template <class T>
void fill(ElementKernels<T>& kernels) {
  kernels.add = add<T>;
  kernels.add_to_sums = add_to_sums<T>;
  kernels.column_sums = column_sums<T>;
  kernels.to_float = to_float<T>;
  kernels.from_float = from_float<T>;
  kernels.gelu_forward = gelu_forward<T>;
  kernels.gelu_backward = gelu_backward<T>;
}

void reduce_rows(std::int64_t rows, std::int64_t cols, const float* parts, std::int64_t stride,
                 bool accumulate, float* sums) {
  if (!accumulate) {
    for (std::int64_t c = 0; c < cols; ++c) {
      sums[c] = 0;
    }
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    add_to_sums(cols, parts + row * stride, sums);
  }
}

}  // namespace

void fill_elementwise(VectorKernels& kernels) {
  fill(kernels.f32);
  fill(kernels.bf16);
  kernels.reduce_rows = reduce_rows;
}

SHARDGPT_VECTOR_END
