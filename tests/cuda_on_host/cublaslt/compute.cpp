#include <algorithm>
#include <cmath>
#include <vector>

#include "core/bf16.hpp"
#include "tests/cuda_on_host/cublaslt/matmul.hpp"
#include "tests/cuda_on_host/cublaslt/multiply.hpp"

namespace cuda_on_host {
namespace {

using shardgpt::bf16;

float load(const void* data, cudaDataType_t type, std::size_t index) {
  return type == CUDA_R_16BF ? static_cast<float>(static_cast<const bf16*>(data)[index])
                             : static_cast<const float*>(data)[index];
}

void store(void* data, cudaDataType_t type, std::size_t index, float value) {
  if (type == CUDA_R_16BF) {
    static_cast<bf16*>(data)[index] = bf16(value);
  } else {
    static_cast<float*>(data)[index] = value;
  }
}

enum class Order { by_column, by_row };

/// The matrix as dense floats, column after column or row after row.
std::vector<float> dense(const MatrixLayout& layout, const void* data, Order order) {
  std::vector<float> result(layout.rows * layout.cols);
  const auto ld = static_cast<std::uint64_t>(layout.ld);
  for (std::uint64_t col = 0; col < layout.cols; ++col) {
    for (std::uint64_t row = 0; row < layout.rows; ++row) {
      const std::uint64_t to = order == Order::by_column ? col * layout.rows + row : row * layout.cols + col;
      result[to] = load(data, layout.type, col * ld + row);
    }
  }
  return result;
}

float gelu(float x) {
  return 0.5F * x * (1.0F + std::tanh(0.7978845608F * (x + 0.044715F * x * x * x)));
}

}  // namespace

void compute(const Matmul& matmul, const MatmulPointers& pointers, float alpha, float beta) {
  const MatmulDescriptor& descriptor = matmul.descriptor;
  // op(A) column after column, [k, m]; op(B) column after column, [n, k].
  const std::vector<float> a =
      dense(matmul.a, pointers.a, descriptor.op_a == CUBLAS_OP_N ? Order::by_column : Order::by_row);
  const std::vector<float> b =
      dense(matmul.b, pointers.b, descriptor.op_b == CUBLAS_OP_N ? Order::by_column : Order::by_row);
  std::vector<float> products(matmul.m() * matmul.n());
  multiply(matmul.n(), matmul.k(), matmul.m(), b.data(), a.data(), products.data());
  const auto ld = static_cast<std::uint64_t>(matmul.d.ld);
  for (std::uint64_t col = 0; col < matmul.n(); ++col) {
    for (std::uint64_t row = 0; row < matmul.m(); ++row) {
      float value = alpha * products[col * matmul.m() + row];
      if (beta != 0.0F) {
        value += beta * load(pointers.d, matmul.d.type, col * ld + row);
      }
      if (matmul.has_bias()) {
        value += load(descriptor.bias, matmul.d.type, row);
      }
      if (matmul.has_gelu()) {
        store(descriptor.aux, matmul.d.type, col * static_cast<std::uint64_t>(descriptor.aux_ld) + row,
              value);
        value = gelu(value);
      }
      store(pointers.d, matmul.d.type, col * ld + row, value);
    }
  }
}

}  // namespace cuda_on_host
