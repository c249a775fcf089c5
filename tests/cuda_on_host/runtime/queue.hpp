#pragma once

#include <functional>

#include <cuda_runtime_api.h>

namespace cuda_on_host {

/// Puts work on a stream, as a kernel launch does: it runs after what the stream holds already, and may run
/// after this call has returned. What the work throws (KernelFault) is the device's failure. The seam between
/// launches and the runtime: defined by the runtime that the program links, of which runtime/synchronous.cpp
/// is the smallest.
void enqueue(cudaStream_t stream, std::function<void()> work);

}  // namespace cuda_on_host
