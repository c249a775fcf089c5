#include "dist/nccl/nccl_check.hpp"

#include <string>

namespace shardgpt {

void throw_nccl_error(ncclResult_t code, const char* call, ncclComm_t comm, const char* file, int line) {
  std::string text =
      std::string(file) + ":" + std::to_string(line) + ": " + call + ": " + ncclGetErrorString(code);
  const char* detail = ncclGetLastError(comm);
  if (detail != nullptr && *detail != '\0') {
    text += std::string(": ") + detail;
  }
  throw NcclError(text);
}

}  // namespace shardgpt
