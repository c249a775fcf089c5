#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>

#include <cuda_runtime_api.h>

#include "kernels/ops.hpp"

namespace shardgpt::cuda {

/// How an operand lies in memory: as it enters the product, or its transpose does. Row-major both.
enum class Stored { plain, transposed };

/// What is done to a product before it is rounded to the output type.
enum class Epilogue { none, bias, bias_gelu };

/// out[rows, cols] = a[rows, inner] * b[inner, cols], all sizes positive and, rows apart, multiples of 8.
struct ProductKind {
  std::int64_t rows = 0;
  std::int64_t inner = 0;
  std::int64_t cols = 0;
  Stored a = Stored::plain;
  Stored b = Stored::plain;
  DType in = DType::bf16;   ///< of a, b and the bias
  DType out = DType::bf16;  ///< f32 or as `in`
  Epilogue epilogue = Epilogue::none;
  Write write = Write::overwrite;
  friend auto operator<=>(const ProductKind&, const ProductKind&) = default;
};

/// Device memory, 16-byte aligned.
struct ProductArgs {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;  ///< [cols], with an epilogue
  void* pre = nullptr;         ///< [rows, cols] type `out`: the argument of gelu, with bias_gelu
  void* out = nullptr;
};

/// cuBLASLt with float accumulation. For each kind of product the first algorithm that its heuristics propose
/// for a fixed workspace is taken, never one chosen by timing, and none whose partial sums are rounded to
/// bf16: so the same build on the same kind of device gives the same bits. Plans are kept; one thread issues.
class MatrixProducts {
 public:
  explicit MatrixProducts(Device& device);
  MatrixProducts(const MatrixProducts&) = delete;
  MatrixProducts& operator=(const MatrixProducts&) = delete;
  ~MatrixProducts();

  /// Throws CublasError where cuBLASLt has no algorithm for `kind`.
  void multiply(cudaStream_t stream, const ProductKind& kind, const ProductArgs& args);

 private:
  class Plan;
  class Library;

  std::unique_ptr<Library> library_;
  Buffer workspace_;
  std::map<ProductKind, std::unique_ptr<Plan>> plans_;
};

}  // namespace shardgpt::cuda
