#pragma once

#include <memory>

#include "device/device.hpp"

namespace shardgpt {

/// A CUDA device: four streams, of which gather and reduce go before compute where both could run, so that
/// communication starts as soon as its data is there. Makes device `index` (of those that this process sees)
/// the calling thread's. Throws CudaError where it cannot be used.
///
/// Streams, events and uploads belong to one host thread; allocation and Event::synchronize to any.
[[nodiscard]] std::unique_ptr<Device> make_cuda_device(int index);

/// Device memory that is free now, in bytes.
[[nodiscard]] std::size_t free_cuda_memory(int index);

}  // namespace shardgpt
