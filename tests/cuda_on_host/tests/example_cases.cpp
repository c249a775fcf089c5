#include "tests/cuda_on_host/tests/example_cases.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "device/cuda/cuda_check.hpp"

namespace shardgpt::cuda::examples {

namespace {

/// Device memory of one test array.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values) : count_(values.size()) {
    SHARDGPT_CUDA(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()));
    SHARDGPT_CUDA(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { static_cast<void>(cudaFree(data_)); }
  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> result(count_);
    SHARDGPT_CUDA(cudaDeviceSynchronize());
    SHARDGPT_CUDA(cudaMemcpy(result.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return result;
  }

 private:
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(T); }
  T* data_ = nullptr;
  std::size_t count_;
};

/// A value in [-1, 1), a multiple of 1/8, that depends on the place alone.
float value_at(std::size_t place, unsigned stream) {
  std::uint64_t bits = (place + 1) * 0x9e3779b97f4a7c15U + stream * 0xbf58476d1ce4e5b9U;
  bits ^= bits >> 29;
  bits *= 0x94d049bb133111ebU;
  return static_cast<float>(bits >> 60) / 8.0F - 1.0F;
}

std::vector<float> floats(std::size_t count, unsigned stream) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = value_at(i, stream);
  }
  return values;
}

std::vector<__nv_bfloat16> bf16s(std::size_t count, unsigned stream) {
  std::vector<__nv_bfloat16> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = __float2bfloat16(value_at(i, stream));
  }
  return values;
}

class LargestError {
 public:
  void add(double wanted, double found) {
    const double difference = std::abs(wanted - found);
    error_ = std::max(error_, std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference);
  }
  [[nodiscard]] double value() const { return error_; }

 private:
  double error_ = 0.0;
};

std::size_t size_of(int first, int second) {
  return static_cast<std::size_t>(first) * static_cast<std::size_t>(second);
}

}  // namespace

double layer_norm_error(const LayerNorm& kernel, int rows, int columns) {
  const auto width = static_cast<std::size_t>(columns);
  const std::vector<float> x = floats(size_of(rows, columns), 0);
  const std::vector<float> weight = floats(width, 1);
  const std::vector<float> bias = floats(width, 2);
  const DeviceArray device_x(x);
  const DeviceArray device_weight(weight);
  const DeviceArray device_bias(bias);
  const DeviceArray y(std::vector<float>(x.size(), NAN));
  const DeviceArray rstd(std::vector<float>(static_cast<std::size_t>(rows), NAN));
  kernel(device_x.data(), device_weight.data(), device_bias.data(), y.data(), rstd.data(), rows, columns);
  const std::vector<float> found = y.values();
  const std::vector<float> found_rstd = rstd.values();
  LargestError error;
  for (std::size_t row = 0; row < found_rstd.size(); ++row) {
    double sum = 0.0;
    double squares = 0.0;
    for (std::size_t i = 0; i < width; ++i) {
      const double value = x[row * width + i];
      sum += value;
      squares += value * value;
    }
    const double mean = sum / columns;
    const double scale = 1.0 / std::sqrt(squares / columns - mean * mean + 1e-5);
    error.add(scale, found_rstd[row]);
    for (std::size_t i = 0; i < width; ++i) {
      error.add((x[row * width + i] - mean) * scale * weight[i] + bias[i], found[row * width + i]);
    }
  }
  return error.value();
}

double product_error(const Product& kernel, int m, int n, int k) {
  const std::vector<__nv_bfloat16> a = bf16s(size_of(m, k), 3);
  const std::vector<__nv_bfloat16> b = bf16s(size_of(n, k), 4);
  const DeviceArray device_a(a);
  const DeviceArray device_b(b);
  const DeviceArray c(std::vector<float>(size_of(m, n), NAN));
  kernel(device_a.data(), device_b.data(), c.data(), m, n, k);
  const std::vector<float> found = c.values();
  const auto depth = static_cast<std::size_t>(k);
  const auto width = static_cast<std::size_t>(n);
  LargestError error;
  for (std::size_t i = 0; i < found.size(); ++i) {
    double sum = 0.0;
    for (std::size_t j = 0; j < depth; ++j) {
      sum += double{__bfloat162float(a[i / width * depth + j])} * __bfloat162float(b[i % width * depth + j]);
    }
    error.add(sum, found[i]);
  }
  return error.value();
}

double attention_error(const Attention& kernel, int heads, int tokens) {
  constexpr std::size_t head_size = 64;
  const auto rows = static_cast<std::size_t>(tokens);
  const std::size_t count = size_of(heads, tokens) * head_size;
  const std::vector<__nv_bfloat16> q = bf16s(count, 5);
  const std::vector<__nv_bfloat16> k = bf16s(count, 6);
  const std::vector<__nv_bfloat16> v = bf16s(count, 7);
  const DeviceArray device_q(q);
  const DeviceArray device_k(k);
  const DeviceArray device_v(v);
  const DeviceArray out(std::vector<__nv_bfloat16>(count, __float2bfloat16(NAN)));
  kernel(device_q.data(), device_k.data(), device_v.data(), out.data(), heads, tokens);
  const std::vector<__nv_bfloat16> found = out.values();
  LargestError error;
  for (std::size_t query = 0; query < count / head_size; ++query) {
    const std::size_t first = query / rows * rows;
    std::vector<double> weights;
    double total = 0.0;
    for (std::size_t key = first; key <= query; ++key) {
      double score = 0.0;
      for (std::size_t i = 0; i < head_size; ++i) {
        score +=
            double{__bfloat162float(q[query * head_size + i])} * __bfloat162float(k[key * head_size + i]);
      }
      total += weights.emplace_back(std::exp(score / 8.0));
    }
    for (std::size_t i = 0; i < head_size; ++i) {
      double sum = 0.0;
      for (std::size_t key = first; key <= query; ++key) {
        sum += weights[key - first] * __bfloat162float(v[key * head_size + i]);
      }
      error.add(sum / total, __bfloat162float(found[query * head_size + i]));
    }
  }
  return error.value();
}

double exchange_error(const Exchange& kernel, int count) {
  std::vector<int> x(static_cast<std::size_t>(count));
  const std::size_t warps = (x.size() + 63) / 64 * 2;
  std::vector<int> positive(warps);
  int sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<int>(value_at(i, 8) * 8.0F);
    sum += x[i];
    positive[i / 32] += x[i] > 0 ? 1 : 0;
  }
  const DeviceArray device_x(x);
  const DeviceArray sums(std::vector<int>(2));
  const DeviceArray votes(std::vector<int>(warps, -1));
  kernel(device_x.data(), sums.data(), votes.data(), count);
  const std::vector<int> found = sums.values();
  const std::vector<int> found_votes = votes.values();
  double error = std::abs(found[0] - sum) + std::abs(found[1] - sum);
  for (std::size_t i = 0; i < warps; ++i) {
    error += std::abs(found_votes[i] - positive[i]);
  }
  return error;
}

}  // namespace shardgpt::cuda::examples
