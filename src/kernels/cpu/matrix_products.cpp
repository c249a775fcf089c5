#include "kernels/cpu/matrix_products.hpp"

#include <map>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include <dnnl.hpp>

#include "kernels/cpu/parallel.hpp"

namespace shardgpt::cpu {
namespace {

dnnl::memory::data_type dnnl_type(DType type) {
  return type == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

dnnl::memory::format_tag dnnl_layout(Stored stored) {
  switch (stored) {
    case Stored::plain:
      return dnnl::memory::format_tag::ab;
    case Stored::transposed:
      return dnnl::memory::format_tag::ba;
    case Stored::packed:
      break;
  }
  return dnnl::memory::format_tag::any;  // oneDNN chooses
}

/// oneDNN takes non-const handles also for what it only reads.
void* handle(const void* data) {
  return const_cast<void*>(data);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

}  // namespace

bool has_native_bf16_products() {
  constexpr auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

std::string products_library_version() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

class MatrixProducts::Impl {
 public:
  Impl(Device& device, const VectorKernels& vector, Bf16Products bf16_products, const Limits& limits)
      : vector_(vector), through_float_(bf16_products == Bf16Products::through_float) {
    if (through_float_) {
      const auto floats = [&](std::int64_t count) {
        return device.allocate(static_cast<std::size_t>(count) * sizeof(float), "kernel workspace");
      };
      float_a_ = floats(limits.largest_a);
      float_b_ = floats(limits.largest_b);
      float_bias_ = floats(limits.largest_bias);
      float_c_ = floats(limits.largest_c);
    }
  }

  void multiply(const ProductKind& kind, const void* a, const void* b, const void* bias, void* c) {
    if (kind.rows == 0 || kind.cols == 0) {
      return;
    }
    if (kind.in == DType::bf16 && through_float_) {
      multiply_through_float(kind, a, b, bias, c);
      return;
    }
    const Primitive& primitive = primitive_of(kind);
    std::unordered_map<int, dnnl::memory> arguments{
        {DNNL_ARG_SRC, dnnl::memory(primitive.a, engine_, handle(a))},
        {DNNL_ARG_WEIGHTS, dnnl::memory(primitive.b, engine_, handle(b))},
        {DNNL_ARG_DST, dnnl::memory(primitive.c, engine_, c)}};
    if (kind.bias) {
      arguments.emplace(DNNL_ARG_BIAS, dnnl::memory(primitive.bias, engine_, handle(bias)));
    }
    primitive.matmul.execute(stream_, arguments);
  }

  bool pack(const ProductKind& kind, const void* b, const Buffer& to) {
    if (through_float_ || kind.rows == 0 || kind.cols == 0) {
      return false;
    }
    const Primitive& primitive = primitive_of(kind);
    const dnnl::memory::desc plain({kind.inner, kind.cols}, dnnl_type(kind.in), dnnl::memory::format_tag::ab);
    if (primitive.b == plain || primitive.b.get_size() > to.bytes()) {
      return false;
    }
    reorder(plain, b, primitive.b, to.data());
    return true;
  }

  void transpose(std::int64_t rows, std::int64_t cols, const void* from, void* to, std::int64_t stride) {
    const auto type = dnnl::memory::data_type::bf16;
    reorder({{cols, rows}, type, dnnl::memory::format_tag::ba}, from, {{cols, rows}, type, {stride, 1}}, to);
  }

 private:
  struct Primitive {
    dnnl::memory::desc a;
    dnnl::memory::desc b;
    dnnl::memory::desc bias;
    dnnl::memory::desc c;
    dnnl::matmul matmul;
  };

  const Primitive& primitive_of(const ProductKind& kind) {
    const auto found = primitives_.find(kind);
    if (found != primitives_.end()) {
      return found->second;
    }
    Primitive made;
    made.a = kind.a_stride == 0
                 ? dnnl::memory::desc({kind.rows, kind.inner}, dnnl_type(kind.in), dnnl_layout(kind.a))
                 : dnnl::memory::desc({kind.rows, kind.inner}, dnnl_type(kind.in), {kind.a_stride, 1});
    made.b = {{kind.inner, kind.cols}, dnnl_type(kind.in), dnnl_layout(kind.b)};
    made.c = {{kind.rows, kind.cols}, dnnl_type(kind.out), dnnl::memory::format_tag::ab};
    dnnl::primitive_attr attributes;
    if (kind.accumulate) {
      dnnl::post_ops sum;
      sum.append_sum(1.0F);
      attributes.set_post_ops(sum);
    }
    if (kind.bias) {
      made.bias = {{1, kind.cols}, dnnl_type(kind.in), dnnl::memory::format_tag::ab};
    }
    const auto [a, c] = kind.any_rows ? with_any_rows(kind) : std::pair(made.a, made.c);
    const auto description =
        kind.bias ? dnnl::matmul::desc(a, made.b, made.bias, c) : dnnl::matmul::desc(a, made.b, c);
    const dnnl::matmul::primitive_desc primitive(description, attributes, engine_);
    made.b = primitive.weights_desc();
    made.matmul = dnnl::matmul(primitive);
    return primitives_.emplace(kind, std::move(made)).first->second;
  }

  /// a, stored transposed, and c with their number of rows left open.
  static std::pair<dnnl::memory::desc, dnnl::memory::desc> with_any_rows(const ProductKind& kind) {
    constexpr auto open = DNNL_RUNTIME_DIM_VAL;
    return {{{open, kind.inner}, dnnl_type(kind.in), {1, open}},
            {{open, kind.cols}, dnnl_type(kind.out), dnnl::memory::format_tag::ab}};
  }

  /// Reorders are cheap to make: oneDNN keeps their code in its own cache.
  void reorder(const dnnl::memory::desc& from_layout, const void* from, const dnnl::memory::desc& to_layout,
               void* to) {
    dnnl::memory source(from_layout, engine_, handle(from));
    dnnl::memory target(to_layout, engine_, to);
    dnnl::reorder(source, target).execute(stream_, source, target);
  }

  void multiply_through_float(const ProductKind& kind, const void* a, const void* b, const void* bias,
                              void* c) {
    ProductKind in_float = kind;
    in_float.in = DType::f32;
    in_float.out = DType::f32;
    in_float.any_rows = false;
    const float* float_bias = kind.bias ? widen(bias, kind.cols, float_bias_) : nullptr;
    const float* float_a = widen(a, kind.rows * kind.inner, float_a_);
    const float* float_b = widen(b, kind.inner * kind.cols, float_b_);
    if (kind.out == DType::f32) {
      multiply(in_float, float_a, float_b, float_bias, c);
      return;
    }
    if (kind.accumulate) {
      throw std::logic_error("a bf16 result is never added to");
    }
    auto* wide = float_c_.as<float>();
    multiply(in_float, float_a, float_b, float_bias, wide);
    parallel_ranges(kind.rows * kind.cols, 1, [&](std::int64_t first, std::int64_t last, int) {
      vector_.bf16.from_float(last - first, wide + first, static_cast<std::uint16_t*>(c) + first);
    });
  }

  const float* widen(const void* values, std::int64_t count, const Buffer& to) const {
    if (static_cast<std::size_t>(count) * sizeof(float) > to.bytes()) {
      throw std::logic_error("a product is larger than the limits of its operations");
    }
    parallel_ranges(count, 1, [&](std::int64_t first, std::int64_t last, int) {
      vector_.bf16.to_float(last - first, static_cast<const std::uint16_t*>(values) + first,
                            to.as<float>() + first);
    });
    return to.as<float>();
  }

  const VectorKernels& vector_;
  bool through_float_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<ProductKind, Primitive> primitives_;
  Buffer float_a_;
  Buffer float_b_;
  Buffer float_bias_;
  Buffer float_c_;
};

MatrixProducts::MatrixProducts(Device& device, const VectorKernels& vector, Bf16Products bf16_products,
                               const Limits& limits)
    : impl_(std::make_unique<Impl>(device, vector, bf16_products, limits)) {}
MatrixProducts::~MatrixProducts() = default;

void MatrixProducts::multiply(const ProductKind& kind, const void* a, const void* b, const void* bias,
                              void* c) {
  impl_->multiply(kind, a, b, bias, c);
}

bool MatrixProducts::pack(const ProductKind& kind, const void* b, const Buffer& to) {
  return impl_->pack(kind, b, to);
}

void MatrixProducts::transpose(std::int64_t rows, std::int64_t cols, const void* from, void* to,
                               std::int64_t stride) {
  impl_->transpose(rows, cols, from, to, stride);
}

}  // namespace shardgpt::cpu
