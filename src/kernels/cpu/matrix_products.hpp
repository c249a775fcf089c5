#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>

#include "core/dtype.hpp"
#include "device/device.hpp"
#include "kernels/cpu/vector/vector_kernels.hpp"

namespace shardgpt::cpu {

/// How a factor of a product lies in memory: as it enters the product, row-major; as its transpose; or, for b
/// only, as MatrixProducts::pack wrote it.
enum class Stored { plain, transposed, packed };

/// One kind of product c[rows, cols] = a[rows, inner] * b[inner, cols] (+ bias[cols]) (+ c). a, b and bias
/// have the type `in`.
struct ProductKind {
  std::int64_t rows = 0;
  std::int64_t inner = 0;
  std::int64_t cols = 0;
  Stored a = Stored::plain;
  Stored b = Stored::plain;
  std::int64_t a_stride =
      0;  ///< elements from one row of a to the next where that is stored plain; 0: no gap
  DType in = DType::f32;
  DType out = DType::f32;
  bool bias = false;
  bool accumulate = false;
  bool any_rows =
      false;  ///< one primitive for any number of rows: oneDNN then takes its general product, see classifier
  auto operator<=>(const ProductKind&) const = default;  // NOLINT(modernize-use-nullptr): compares with 0
};

/// Where bf16 products run.
enum class Bf16Products { native, through_float };

/// Whether oneDNN multiplies bf16 on this machine with instructions made for it.
[[nodiscard]] bool has_native_bf16_products();

/// oneDNN's version, "2.6.2".
[[nodiscard]] std::string products_library_version();

/// oneDNN matrix products, one primitive for each kind that was ever asked for. Use on the compute thread.
class MatrixProducts {
 public:
  /// Elements of the largest operands, for the float copies of `through_float`.
  struct Limits {
    std::int64_t largest_a = 0;
    std::int64_t largest_b = 0;
    std::int64_t largest_c = 0;
    std::int64_t largest_bias = 0;
  };
  MatrixProducts(Device& device, const VectorKernels& vector, Bf16Products bf16_products,
                 const Limits& limits);
  ~MatrixProducts();
  MatrixProducts(const MatrixProducts&) = delete;
  MatrixProducts& operator=(const MatrixProducts&) = delete;

  /// Nothing is done where rows or cols is 0; `inner` must not be 0.
  void multiply(const ProductKind& kind, const void* a, const void* b, const void* bias, void* c);
  /// Writes the row-major b in the layout in which `kind` (with Stored::packed) reads it fastest; worth it
  /// where several products follow, or few rows of b are used at a time. False, with nothing done, where
  /// there is no gain or `to` is too small: then multiply the plain b.
  [[nodiscard]] bool pack(const ProductKind& kind, const void* b, const Buffer& to);
  /// to[cols, rows] = from[rows, cols] transposed, bf16; `stride` elements from one row of `to` to the next.
  void transpose(std::int64_t rows, std::int64_t cols, const void* from, void* to, std::int64_t stride);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shardgpt::cpu
