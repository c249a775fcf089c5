#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <cublasLt.h>

namespace cuda_on_host {

/// What stands behind cublasLtMatrixLayout_t: column-major [rows, cols] with `ld` elements from one column to
/// the next.
struct MatrixLayout {
  cudaDataType_t type = CUDA_R_32F;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::int64_t ld = 0;
};

/// What stands behind cublasLtMatmulDesc_t.
struct MatmulDescriptor {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
  cublasOperation_t op_a = CUBLAS_OP_N;
  cublasOperation_t op_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  cudaDataType_t bias_type = CUDA_R_32F;
  bool bias_type_set = false;
  void* aux = nullptr;
  std::int64_t aux_ld = 0;
};

/// What stands behind cublasLtMatmulPreference_t; the defaults are the library's.
struct MatmulPreference {
  std::uint64_t max_workspace_bytes = 0;
  std::uint32_t reduction_schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::uint32_t alignment_a = 256;
  std::uint32_t alignment_b = 256;
  std::uint32_t alignment_c = 256;
  std::uint32_t alignment_d = 256;
};

/// D[m, n] = epilogue(alpha * op(A)[m, k] * op(B)[k, n] + beta * C), all column-major.
struct Matmul {
  MatmulDescriptor descriptor;
  MatrixLayout a;
  MatrixLayout b;
  MatrixLayout d;  ///< of C as well

  [[nodiscard]] std::uint64_t m() const { return d.rows; }
  [[nodiscard]] std::uint64_t n() const { return d.cols; }
  [[nodiscard]] std::uint64_t k() const { return descriptor.op_a == CUBLAS_OP_N ? a.cols : a.rows; }
  [[nodiscard]] bool has_bias() const;
  [[nodiscard]] bool has_gelu() const;
};

struct MatmulPointers {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;  ///< C as well
};

[[nodiscard]] std::size_t element_bytes(cudaDataType_t type);
/// From the first to past the last element.
[[nodiscard]] std::size_t layout_bytes(const MatrixLayout& layout);

/// Empty, or what keeps the stand-in, or by its documentation cuBLASLt, from serving this product.
[[nodiscard]] std::string unsupported(const Matmul& matmul);

/// Computes it now, accumulating in float.
void compute(const Matmul& matmul, const MatmulPointers& pointers, float alpha, float beta);

}  // namespace cuda_on_host
