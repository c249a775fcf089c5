#include "tests/cuda_on_host/cublaslt/matmul.hpp"

namespace cuda_on_host {
namespace {

std::string operand(const char* name, const MatrixLayout& layout) {
  return std::string(name) + " [" + std::to_string(layout.rows) + ", " + std::to_string(layout.cols) +
         "] ld " + std::to_string(layout.ld);
}

std::string unsupported_layout(const char* name, const MatrixLayout& layout) {
  if (layout.rows == 0 || layout.cols == 0 || layout.ld < 0 ||
      static_cast<std::uint64_t>(layout.ld) < layout.rows) {
    return operand(name, layout) + ": empty, or ld smaller than a column";
  }
  return {};
}

bool types_supported(const Matmul& matmul) {
  const cudaDataType_t in = matmul.a.type;
  const cudaDataType_t out = matmul.d.type;
  return in == matmul.b.type && ((in == CUDA_R_16BF && (out == CUDA_R_16BF || out == CUDA_R_32F)) ||
                                 (in == CUDA_R_32F && out == CUDA_R_32F));
}

std::string unsupported_epilogue(const Matmul& matmul) {
  const MatmulDescriptor& descriptor = matmul.descriptor;
  const bool known = descriptor.epilogue == CUBLASLT_EPILOGUE_DEFAULT ||
                     descriptor.epilogue == CUBLASLT_EPILOGUE_BIAS ||
                     descriptor.epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  if (!known) {
    return "an epilogue that the stand-in does not have";
  }
  if (matmul.has_bias()) {
    const cudaDataType_t bias_type = descriptor.bias_type_set ? descriptor.bias_type : matmul.d.type;
    if (bias_type != matmul.d.type) {
      return "a bias of another type than D";
    }
    if (descriptor.bias == nullptr) {
      return "an epilogue with bias without its pointer";
    }
  }
  if (matmul.has_gelu()) {
    if (matmul.d.type != CUDA_R_16BF) {
      return "GELU with auxiliary output in another type than bf16";
    }
    if (descriptor.aux == nullptr || descriptor.aux_ld % 8 != 0 ||
        descriptor.aux_ld < static_cast<std::int64_t>(matmul.m())) {
      return "auxiliary output without pointer, or its ld no multiple of 8 or smaller than a column";
    }
  }
  return {};
}

}  // namespace

bool Matmul::has_bias() const {
  return (static_cast<unsigned>(descriptor.epilogue) & CUBLASLT_EPILOGUE_BIAS) != 0;
}

bool Matmul::has_gelu() const {
  return (static_cast<unsigned>(descriptor.epilogue) & CUBLASLT_EPILOGUE_GELU) != 0;
}

std::size_t element_bytes(cudaDataType_t type) {
  return type == CUDA_R_16BF ? 2 : 4;
}

std::size_t layout_bytes(const MatrixLayout& layout) {
  return ((layout.cols - 1) * static_cast<std::uint64_t>(layout.ld) + layout.rows) *
         element_bytes(layout.type);
}

std::string unsupported(const Matmul& matmul) {
  for (const auto& [name, layout] : {std::pair{"A", &matmul.a}, {"B", &matmul.b}, {"D", &matmul.d}}) {
    if (std::string problem = unsupported_layout(name, *layout); !problem.empty()) {
      return problem;
    }
  }
  const bool a_plain = matmul.descriptor.op_a == CUBLAS_OP_N;
  const bool b_plain = matmul.descriptor.op_b == CUBLAS_OP_N;
  const bool fits = (a_plain ? matmul.a.rows : matmul.a.cols) == matmul.m() &&
                    (b_plain ? matmul.b.cols : matmul.b.rows) == matmul.n() &&
                    (b_plain ? matmul.b.rows : matmul.b.cols) == matmul.k();
  if (!fits) {
    return "shapes that do not fit: " + operand("A", matmul.a) + ", " + operand("B", matmul.b) + ", " +
           operand("D", matmul.d);
  }
  if (matmul.descriptor.compute != CUBLAS_COMPUTE_32F || matmul.descriptor.scale != CUDA_R_32F) {
    return "a compute or scale type other than plain float";
  }
  if (!types_supported(matmul)) {
    return "operand types";
  }
  return unsupported_epilogue(matmul);
}

}  // namespace cuda_on_host
