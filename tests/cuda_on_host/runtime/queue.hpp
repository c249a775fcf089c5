#pragma once

#include <functional>

#include <cuda_runtime_api.h>

namespace cuda_on_host {

/// Puts `work` into `stream`, behind all that was put there before. It may touch device memory; what it
/// throws fails the device. Returns what a CUDA call would: an error where there is no such stream.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);

}  // namespace cuda_on_host
