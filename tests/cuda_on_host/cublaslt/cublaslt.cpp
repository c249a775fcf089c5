/// The calls of cuBLASLt that the product makes, for the host implementation. Stricter than the library:
/// where its documentation leaves room, what depends on luck (alignment, an algorithm that was chosen for
/// another product, partial sums in the output type) is refused, with the reason in the status string.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <cublasLt.h>

#include "tests/cuda_on_host/cublaslt/matmul.hpp"
#include "tests/cuda_on_host/runtime/queue.hpp"

namespace {

using cuda_on_host::Matmul;
using cuda_on_host::MatmulDescriptor;
using cuda_on_host::MatmulPreference;
using cuda_on_host::MatrixLayout;

constexpr std::uint64_t library_mark = 0x7573746c74ULL;
/// Alignment of operands, in bytes, below which there are only slow algorithms; not served here.
constexpr std::uint64_t least_alignment = 16;
constexpr std::uint64_t most_alignment = 256;
constexpr std::uint64_t needed_workspace_bytes = 4096;

thread_local std::string last_refusal;

cublasStatus_t refuse(std::string reason, cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE) {
  last_refusal = std::move(reason);
  return status;
}

template <class To, class Handle>
To& behind(Handle handle) {
  return *reinterpret_cast<To*>(handle);
}

/// Copies an attribute's value in, which must have the attribute's size.
template <class Value>
cublasStatus_t assign(Value& to, const void* value, std::size_t bytes) {
  if (value == nullptr || bytes != sizeof(Value)) {
    return refuse("an attribute of " + std::to_string(bytes) + " bytes instead of " +
                  std::to_string(sizeof(Value)));
  }
  std::memcpy(&to, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

std::uint64_t alignment_of(std::uint64_t value) {
  return value == 0 ? most_alignment : std::min(most_alignment, std::uint64_t{1} << std::countr_zero(value));
}
std::uint64_t alignment_of(const void* pointer) {
  return alignment_of(std::bit_cast<std::uintptr_t>(pointer));
}
/// What columns are aligned to if the first is aligned to `promised`.
std::uint64_t column_alignment(const MatrixLayout& layout, std::uint64_t promised) {
  return std::min(alignment_of(promised), alignment_of(static_cast<std::uint64_t>(layout.ld) *
                                                       cuda_on_host::element_bytes(layout.type)));
}

/// Distinguishes products: an algorithm serves only the one it was asked for.
std::uint64_t fingerprint(const Matmul& matmul) {
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  const std::array values{number(matmul.a.type),
                          number(matmul.a.rows),
                          number(matmul.a.cols),
                          number(matmul.a.ld),
                          number(matmul.b.type),
                          number(matmul.b.rows),
                          number(matmul.b.cols),
                          number(matmul.b.ld),
                          number(matmul.d.type),
                          number(matmul.d.rows),
                          number(matmul.d.cols),
                          number(matmul.d.ld),
                          number(matmul.descriptor.op_a),
                          number(matmul.descriptor.op_b),
                          number(matmul.descriptor.epilogue),
                          number(matmul.descriptor.aux_ld)};
  std::uint64_t hash = library_mark;
  for (const std::uint64_t value : values) {
    hash = (hash ^ value) * 0x100000001b3ULL;
    hash ^= hash >> 29U;
  }
  return hash;
}

/// What is kept in cublasLtMatmulAlgo_t.
struct Algorithm {
  std::uint64_t mark;
  std::uint64_t product;
  std::uint64_t alignment_a;
  std::uint64_t alignment_b;
  std::uint64_t alignment_d;
  std::uint64_t alignment_epilogue;  ///< of bias and auxiliary output
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

std::string misaligned(const char* what, const void* pointer, std::uint64_t needed) {
  return alignment_of(pointer) >= needed
             ? std::string()
             : std::string(what) + " is not aligned to the " + std::to_string(needed) +
                   " bytes that the algorithm was chosen for";
}

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto first = std::bit_cast<std::uintptr_t>(a);
  const auto second = std::bit_cast<std::uintptr_t>(b);
  return first < second + b_bytes && second < first + a_bytes;
}

std::string check_pointers(const Matmul& matmul, const cuda_on_host::MatmulPointers& pointers,
                           const Algorithm& algorithm) {
  std::array problems{
      misaligned("A", pointers.a, algorithm.alignment_a), misaligned("B", pointers.b, algorithm.alignment_b),
      misaligned("D", pointers.d, algorithm.alignment_d),
      misaligned("the bias", matmul.descriptor.bias, algorithm.alignment_epilogue),
      misaligned("the auxiliary output", matmul.descriptor.aux, algorithm.alignment_epilogue)};
  for (std::string& problem : problems) {
    if (!problem.empty()) {
      return std::move(problem);
    }
  }
  if (pointers.a == nullptr || pointers.b == nullptr || pointers.d == nullptr) {
    return "a null operand";
  }
  const std::size_t d_bytes = layout_bytes(matmul.d);
  if (overlap(pointers.d, d_bytes, pointers.a, layout_bytes(matmul.a)) ||
      overlap(pointers.d, d_bytes, pointers.b, layout_bytes(matmul.b))) {
    return "D overlaps A or B";
  }
  return {};
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new std::uint64_t{library_mark});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<std::uint64_t*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) {
    return "CUBLAS_STATUS_SUCCESS";
  }
  return last_refusal.c_str();
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          std::uint64_t rows, std::uint64_t cols, std::int64_t ld) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new MatrixLayout{type, rows, cols, ld});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &behind<MatrixLayout>(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  auto* made = new MatmulDescriptor;
  made->compute = compute;
  made->scale = scale;
  *descriptor = reinterpret_cast<cublasLtMatmulDesc_t>(made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
  delete &behind<MatmulDescriptor>(descriptor);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              std::size_t bytes) {
  auto& to = behind<MatmulDescriptor>(descriptor);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return assign(to.op_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return assign(to.op_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return assign(to.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return assign(to.bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      to.bias_type_set = true;
      return assign(to.bias_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return assign(to.aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return assign(to.aux_ld, value, bytes);
    default:
      return refuse("a descriptor attribute that the stand-in does not have: " + std::to_string(attribute));
  }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new MatmulPreference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete &behind<MatmulPreference>(preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  auto& to = behind<MatmulPreference>(preference);
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return assign(to.max_workspace_bytes, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return assign(to.reduction_schemes, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return assign(to.alignment_a, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return assign(to.alignment_b, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return assign(to.alignment_c, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return assign(to.alignment_d, value, bytes);
    default:
      return refuse("a preference that the stand-in does not have: " + std::to_string(attribute));
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  *found = 0;
  if (behind<std::uint64_t>(handle) != library_mark || requested < 1 || c != d) {
    return refuse("no handle, no room for a result, or C laid out other than D");
  }
  const Matmul matmul{behind<MatmulDescriptor>(descriptor), behind<MatrixLayout>(a), behind<MatrixLayout>(b),
                      behind<MatrixLayout>(d)};
  if (std::string problem = unsupported(matmul); !problem.empty()) {
    return refuse(std::move(problem), CUBLAS_STATUS_NOT_SUPPORTED);
  }
  const auto& wanted = behind<MatmulPreference>(preference);
  if ((wanted.reduction_schemes & ~std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}) != 0) {
    return refuse("partial sums may be rounded to the output type: the reduction schemes allow it");
  }
  if (wanted.max_workspace_bytes < needed_workspace_bytes) {
    return refuse("too little workspace for any algorithm", CUBLAS_STATUS_NOT_SUPPORTED);
  }
  const Algorithm algorithm{
      library_mark,
      fingerprint(matmul),
      column_alignment(matmul.a, wanted.alignment_a),
      column_alignment(matmul.b, wanted.alignment_b),
      column_alignment(matmul.d, std::min(wanted.alignment_c, wanted.alignment_d)),
      std::min(matmul.has_bias() ? alignment_of(matmul.descriptor.bias) : std::uint64_t{1},
               matmul.has_gelu() ? alignment_of(matmul.descriptor.aux) : most_alignment)};
  if (std::min({algorithm.alignment_a, algorithm.alignment_b, algorithm.alignment_d}) < least_alignment) {
    return refuse("operands aligned to less than 16 bytes", CUBLAS_STATUS_NOT_SUPPORTED);
  }
  results[0] = {};
  std::memcpy(&results[0].algo, &algorithm, sizeof(algorithm));
  results[0].workspaceSize = needed_workspace_bytes;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* chosen, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  const Matmul matmul{behind<MatmulDescriptor>(descriptor), behind<MatrixLayout>(a_layout),
                      behind<MatrixLayout>(b_layout), behind<MatrixLayout>(d_layout)};
  if (behind<std::uint64_t>(handle) != library_mark || c != d || c_layout != d_layout || chosen == nullptr) {
    return refuse("no handle, no algorithm, or C other than D");
  }
  Algorithm algorithm{};
  std::memcpy(&algorithm, chosen, sizeof(algorithm));
  if (algorithm.mark != library_mark || algorithm.product != fingerprint(matmul)) {
    return refuse("the algorithm was chosen for another product");
  }
  if (std::string problem = unsupported(matmul); !problem.empty()) {
    return refuse(std::move(problem));
  }
  const cuda_on_host::MatmulPointers pointers{a, b, d};
  if (std::string problem = check_pointers(matmul, pointers, algorithm); !problem.empty()) {
    return refuse(std::move(problem));
  }
  if (workspace_bytes < needed_workspace_bytes || alignment_of(workspace) < 16) {
    return refuse("the workspace is too small or not aligned");
  }
  const auto factor = [](const void* host) { return *static_cast<const float*>(host); };
  cuda_on_host::enqueue(stream, [=, scale = factor(alpha), keep = factor(beta)] {
    std::memset(workspace, 0xff, needed_workspace_bytes);  // what a product leaves there is nobody's
    cuda_on_host::compute(matmul, pointers, scale, keep);
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
