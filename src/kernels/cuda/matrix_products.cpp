#include "kernels/cuda/matrix_products.hpp"

#include <string>

#include "core/checked.hpp"
#include "kernels/cuda/cublas_check.hpp"

namespace shardgpt::cuda {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;  // what NVIDIA advises for Hopper
/// Alignment of operands that algorithms may rely on.
constexpr std::uint32_t operand_alignment = 16;

struct Destroy {
  void operator()(cublasLtMatmulDescOpaque_t* raw) const noexcept { cublasLtMatmulDescDestroy(raw); }
  void operator()(cublasLtMatrixLayoutOpaque_t* raw) const noexcept { cublasLtMatrixLayoutDestroy(raw); }
  void operator()(cublasLtMatmulPreferenceOpaque_t* raw) const noexcept {
    cublasLtMatmulPreferenceDestroy(raw);
  }
};
using Descriptor = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy>;
using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy>;

cudaDataType_t cuda_type(DType type) {
  return type == DType::f32 ? CUDA_R_32F : CUDA_R_16BF;
}

/// cuBLASLt counts by columns: a row-major matrix is its transpose.
Layout make_layout(DType type, std::int64_t rows, std::int64_t cols) {
  cublasLtMatrixLayout_t raw = nullptr;
  SHARDGPT_CUBLAS(cublasLtMatrixLayoutCreate(&raw, cuda_type(type), narrow<std::uint64_t>(cols),
                                             narrow<std::uint64_t>(rows), cols));
  return Layout(raw);
}
Layout operand_layout(DType type, Stored stored, std::int64_t rows, std::int64_t cols) {
  return stored == Stored::plain ? make_layout(type, rows, cols) : make_layout(type, cols, rows);
}

template <class Value>
void set(const Descriptor& descriptor, cublasLtMatmulDescAttributes_t attribute, Value value) {
  SHARDGPT_CUBLAS(cublasLtMatmulDescSetAttribute(descriptor.get(), attribute, &value, sizeof(value)));
}

Descriptor make_descriptor(const ProductKind& kind) {
  cublasLtMatmulDesc_t raw = nullptr;
  SHARDGPT_CUBLAS(cublasLtMatmulDescCreate(&raw, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  Descriptor descriptor(raw);
  const auto operation = [](Stored stored) -> cublasOperation_t {
    return stored == Stored::plain ? CUBLAS_OP_N : CUBLAS_OP_T;
  };
  // out^T = b^T * a^T: the operands change places.
  set(descriptor, CUBLASLT_MATMUL_DESC_TRANSA, operation(kind.b));
  set(descriptor, CUBLASLT_MATMUL_DESC_TRANSB, operation(kind.a));
  if (kind.epilogue != Epilogue::none) {
    const bool gelu = kind.epilogue == Epilogue::bias_gelu;
    set<cublasLtEpilogue_t>(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE,
                            gelu ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_BIAS);
    set(descriptor, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_type(kind.in));
    if (gelu) {
      set(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, kind.cols);
    }
  }
  return descriptor;
}

Preference make_preference() {
  cublasLtMatmulPreference_t raw = nullptr;
  SHARDGPT_CUBLAS(cublasLtMatmulPreferenceCreate(&raw));
  Preference preference(raw);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    SHARDGPT_CUBLAS(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof(value)));
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set(attribute, operand_alignment);
  }
  return preference;
}

std::string describe(const ProductKind& kind) {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  return '[' + number(kind.rows) + ", " + number(kind.inner) + "] * [" + number(kind.inner) + ", " +
         number(kind.cols) + "], " + std::string(dtype_name(kind.in)) + " to " +
         std::string(dtype_name(kind.out));
}

}  // namespace

void throw_cublas_error(cublasStatus_t code, const char* call, const char* file, int line) {
  throw CublasError(std::string(file) + ':' + std::to_string(line) + ": " + call + ": " +
                    cublasLtGetStatusString(code));
}

class MatrixProducts::Library {
 public:
  Library() { SHARDGPT_CUBLAS(cublasLtCreate(&raw_)); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { cublasLtDestroy(raw_); }
  [[nodiscard]] cublasLtHandle_t raw() const { return raw_; }

 private:
  cublasLtHandle_t raw_ = nullptr;
};

/// Descriptors of one kind of product and the algorithm chosen for it.
class MatrixProducts::Plan {
 public:
  Plan(const Library& library, const ProductKind& kind, void* workspace)
      : descriptor_(make_descriptor(kind)),
        a_(operand_layout(kind.in, kind.a, kind.rows, kind.inner)),
        b_(operand_layout(kind.in, kind.b, kind.inner, kind.cols)),
        out_(make_layout(kind.out, kind.rows, kind.cols)),
        epilogue_(kind.epilogue),
        beta_(kind.write == Write::accumulate ? 1.0F : 0.0F) {
    // The heuristics judge the alignment of these two by their values: they get the least that is promised.
    void* least_aligned = static_cast<std::byte*>(workspace) + operand_alignment;
    set_pointers(least_aligned, least_aligned);
    const Preference preference = make_preference();
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(library.raw(), descriptor_.get(), b_.get(), a_.get(), out_.get(),
                                       out_.get(), preference.get(), 1, &found, &count);
    if (status != CUBLAS_STATUS_SUCCESS || count == 0) {
      throw CublasError("cuBLASLt has no algorithm for " + describe(kind) + ": " +
                        cublasLtGetStatusString(status));
    }
    algorithm_ = found.algo;
  }

  void run(const Library& library, cudaStream_t stream, const ProductArgs& args, void* workspace) const {
    set_pointers(args.bias, args.pre);
    const float alpha = 1.0F;
    SHARDGPT_CUBLAS(cublasLtMatmul(library.raw(), descriptor_.get(), &alpha, args.b, b_.get(), args.a,
                                   a_.get(), &beta_, args.out, out_.get(), args.out, out_.get(), &algorithm_,
                                   workspace, workspace_bytes, stream));
  }

 private:
  void set_pointers(const void* bias, const void* pre) const {
    if (epilogue_ != Epilogue::none) {
      set(descriptor_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }
    if (epilogue_ == Epilogue::bias_gelu) {
      set(descriptor_, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, pre);
    }
  }

  Descriptor descriptor_;
  Layout a_;
  Layout b_;
  Layout out_;
  Epilogue epilogue_;
  float beta_;
  cublasLtMatmulAlgo_t algorithm_{};
};

MatrixProducts::MatrixProducts(Device& device)
    : library_(std::make_unique<Library>()),
      workspace_(device.allocate(workspace_bytes, "kernel workspace")) {}

MatrixProducts::~MatrixProducts() = default;

void MatrixProducts::multiply(cudaStream_t stream, const ProductKind& kind, const ProductArgs& args) {
  std::unique_ptr<Plan>& plan = plans_[kind];
  if (!plan) {
    plan = std::make_unique<Plan>(*library_, kind, workspace_.data());
  }
  plan->run(*library_, stream, args, workspace_.data());
}

}  // namespace shardgpt::cuda
