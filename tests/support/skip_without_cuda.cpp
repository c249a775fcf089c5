// A source of test programs for GPUs: on a machine without one they are skipped.
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime_api.h>

namespace {

constexpr int skipped = 77;  // CTest's SKIP_RETURN_CODE

/// Before main, and so before MPI: nobody waits for a rank that leaves.
const bool device_found = [] {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: there is no CUDA device");
    std::fflush(stdout);
    std::_Exit(skipped);
  }
  return true;
}();

}  // namespace
