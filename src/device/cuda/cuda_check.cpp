#include "device/cuda/cuda_check.hpp"

#include <sstream>

namespace shardgpt::cuda {

void throw_cuda_error(cudaError_t code, const char* call, const char* file, int line) {
  static_cast<void>(cudaGetLastError());
  std::ostringstream message;
  message << file << ':' << line << ": " << call << ": " << cudaGetErrorName(code) << " ("
          << cudaGetErrorString(code) << ')';
  throw CudaError(code, message.str());
}

}  // namespace shardgpt::cuda
