// Matrix products against loops in double, and what they refuse.
#include <boost/test/unit_test.hpp>

#include "cuda_implementations.hpp"
#include "device/cuda/cuda_stream.hpp"
#include "kernels/cuda/cublas_check.hpp"
#include "kernels/cuda/matrix_products.hpp"

namespace shardgpt::test {
namespace {

using cuda::Epilogue;
using cuda::ProductKind;
using cuda::Stored;

constexpr std::int64_t rows = 11;
constexpr std::int64_t inner = 24;
constexpr std::int64_t cols = 40;

double at(const std::vector<double>& values, Stored stored, std::int64_t row, std::int64_t col,
          std::int64_t row_count, std::int64_t col_count) {
  const std::int64_t index = stored == Stored::plain ? row * col_count + col : col * row_count + row;
  return values[static_cast<std::size_t>(index)];
}

/// a * b + bias + `before`, by definition.
std::vector<double> by_loops(const ProductKind& kind, const std::vector<double>& a,
                             const std::vector<double>& b, const std::vector<double>& bias,
                             const std::vector<double>& before) {
  std::vector<double> result;
  for (std::int64_t row = 0; row < kind.rows; ++row) {
    for (std::int64_t col = 0; col < kind.cols; ++col) {
      double sum = kind.epilogue == Epilogue::none ? 0.0 : bias[static_cast<std::size_t>(col)];
      sum += kind.write == Write::accumulate ? before[result.size()] : 0.0;
      for (std::int64_t k = 0; k < kind.inner; ++k) {
        sum += at(a, kind.a, row, k, kind.rows, kind.inner) * at(b, kind.b, k, col, kind.inner, kind.cols);
      }
      result.push_back(sum);
    }
  }
  return result;
}

void check_product(DType in, DType out, Stored a_stored, Stored b_stored, Epilogue epilogue, Write write) {
  const Implementation on = make_cuda(in, {});
  const Implementation wide = make_cuda(out, {});
  cuda::MatrixProducts products(*on.device);
  // The rows are the size that need not be a multiple of 8, but not of a transposed operand.
  const ProductKind kind{
      a_stored == Stored::plain ? rows : rows + 5, inner, cols, a_stored, b_stored, in, out, epilogue, write};
  const Typed a(on, random_values(kind.rows * inner, 1));
  const Typed b(on, random_values(inner * cols, 2));
  const Typed bias(on, random_values(cols, 3));
  const Typed result(wide, random_values(kind.rows * cols, 4));
  const Typed pre(wide, random_values(kind.rows * cols, 5));
  const auto wanted = by_loops(kind, a.values(), b.values(), bias.values(), result.values());
  on.compute().synchronize();
  products.multiply(raw_stream(wide.compute()), kind,
                    {a.data(), b.data(), bias.data(), pre.data(), result.data()});
  const auto found = epilogue == Epilogue::bias_gelu ? pre.values() : result.values();
  BOOST_TEST(relative_difference(found, wanted) < (out == DType::f32 ? 1e-6 : 4e-3));
}

BOOST_AUTO_TEST_SUITE(cuda_products)

BOOST_AUTO_TEST_CASE(every_kind_equals_loops) {
  using enum DType;
  using enum Epilogue;
  for (const Stored a : {Stored::plain, Stored::transposed}) {
    for (const Stored b : {Stored::plain, Stored::transposed}) {
      for (const Write write : {Write::overwrite, Write::accumulate}) {
        check_product(f32, f32, a, b, none, write);
        check_product(bf16, f32, a, b, none, write);
        check_product(bf16, bf16, a, b, none, write);
      }
      check_product(f32, f32, a, b, bias, Write::overwrite);
      check_product(bf16, bf16, a, b, bias, Write::overwrite);
      check_product(bf16, bf16, a, b, bias_gelu, Write::overwrite);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_has_no_fast_algorithm_is_refused) {
  const Implementation on = make_cuda(DType::bf16, {});
  cuda::MatrixProducts products(*on.device);
  const Typed values(on, random_values(1024, 1));
  const Typed result(on, random_values(1024, 2));
  const auto multiply = [&](const ProductKind& kind, std::size_t shift_bytes) {
    products.multiply(raw_stream(on.compute()), kind,
                      {.a = static_cast<const std::byte*>(values.data()) + shift_bytes,
                       .b = values.data(),
                       .bias = values.data(),
                       .out = result.data()});
    on.compute().synchronize();
  };
  const ProductKind good{.rows = 4, .inner = 16, .cols = 16};
  BOOST_CHECK_NO_THROW(multiply(good, 0));
  BOOST_CHECK_NO_THROW(multiply(good, 16));
  BOOST_CHECK_THROW(multiply(good, 8), cuda::CublasError);
  BOOST_CHECK_THROW(multiply({.rows = 4, .inner = 12, .cols = 16}, 0), cuda::CublasError);
  BOOST_CHECK_THROW(multiply({.rows = 4, .inner = 16, .cols = 12}, 0), cuda::CublasError);
  BOOST_CHECK_THROW(multiply({.rows = 0, .inner = 16, .cols = 16}, 0), cuda::CublasError);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace shardgpt::test
