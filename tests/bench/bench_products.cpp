#include "bench/bench_products.hpp"

#include <algorithm>
#include <cstdio>

#include <dnnl.hpp>

namespace shardgpt::bench {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

struct Shape {
  const char* name;
  std::int64_t rows;
  std::int64_t inner;
  std::int64_t cols;
};

/// Best of `repeats`, GFLOP/s.
double product_rate(BenchClock clock, const Shape& shape, memory::data_type in, Tag a_tag, Tag b_tag,
                    memory::data_type out, int repeats) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const memory::desc a({shape.rows, shape.inner}, in, a_tag);
  const memory::desc b({shape.inner, shape.cols}, in, b_tag);
  const memory::desc c({shape.rows, shape.cols}, out, Tag::ab);
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, c), engine);
  const dnnl::matmul product(description);
  memory left(description.src_desc(), engine);
  memory right(description.weights_desc(), engine);
  memory result(c, engine);
  for (memory* filled : {&left, &right, &result}) {
    auto* bits = static_cast<std::uint16_t*>(filled->get_data_handle());
    std::fill_n(bits, filled->get_desc().get_size() / 2, std::uint16_t{0x3c80});
  }
  double best = 0;
  for (int i = 0; i <= repeats; ++i) {
    const double start = seconds_now(clock);
    product.execute(stream, {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, result}});
    stream.wait();
    const double seconds = seconds_now(clock) - start;
    const double flops = 2.0 * static_cast<double>(shape.rows) * static_cast<double>(shape.inner) *
                         static_cast<double>(shape.cols);
    best = std::max(best, flops / seconds * 1e-9);
  }
  return best;
}

}  // namespace

double measure_products(const BenchConfig& config, DType dtype, BenchClock clock, int repeats) {
  const std::int64_t m = config.tokens();
  const std::int64_t c = config.embd;
  const Shape shapes[] = {{"qkv", m, c, 3 * c},
                          {"projection", m, c, c},
                          {"expand", m, c, 4 * c},
                          {"contract", m, 4 * c, c},
                          {"head", std::min<std::int64_t>(m, 1024), c, config.padded_vocab()}};
  const auto type = dtype == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  std::printf("oneDNN products, GFLOP/s\n%-12s %6s %6s %6s %9s %9s %9s %9s\n", "shape", "rows", "inner",
              "cols", "forward", "din", "dweight", "packed");
  double flops = 0;
  double seconds = 0;
  for (const Shape& s : shapes) {
    const double forward = product_rate(clock, s, type, Tag::ab, Tag::ab, type, repeats);
    const double din =
        product_rate(clock, {"", s.rows, s.cols, s.inner}, type, Tag::ab, Tag::ba, type, repeats);
    const double dweight = product_rate(clock, {"", s.inner, s.rows, s.cols}, type, Tag::ba, Tag::ab,
                                        memory::data_type::f32, repeats);
    const double packed = product_rate(clock, s, type, Tag::ab, Tag::any, type, repeats);
    std::printf("%-12s %6ld %6ld %6ld %9.1f %9.1f %9.1f %9.1f\n", s.name, static_cast<long>(s.rows),
                static_cast<long>(s.inner), static_cast<long>(s.cols), forward, din, dweight, packed);
    const double layers = s.cols == config.padded_vocab() ? 1.0 : static_cast<double>(config.layers);
    const double share =
        layers * static_cast<double>(m) * static_cast<double>(s.inner) * static_cast<double>(s.cols);
    flops += share;
    seconds += share / packed;
  }
  return flops / seconds;
}

}  // namespace shardgpt::bench
