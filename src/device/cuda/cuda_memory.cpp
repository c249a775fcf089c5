#include "device/cuda/cuda_memory.hpp"

#include <cstring>
#include <utility>

#include <cuda_runtime_api.h>

#include "core/log.hpp"
#include "device/cuda/cuda_check.hpp"

namespace shardgpt {
namespace {

struct DeviceMemory {
  static constexpr const char* release_call = "cudaFree";
  static cudaError_t allocate(void** data, std::size_t bytes) { return cudaMalloc(data, bytes); }
  static cudaError_t release(void* data) { return cudaFree(data); }
};

struct PinnedMemory {
  static constexpr const char* release_call = "cudaFreeHost";
  static cudaError_t allocate(void** data, std::size_t bytes) {
    return cudaHostAlloc(data, bytes, cudaHostAllocDefault);
  }
  static cudaError_t release(void* data) { return cudaFreeHost(data); }
};

/// Says how much was wanted for what, and how much there was.
[[noreturn]] void throw_no_memory(cudaError_t code, const char* where, std::size_t bytes,
                                  const std::string& category) {
  (void)cudaGetLastError();  // not an error of whoever calls CUDA next
  std::size_t free = 0;
  std::size_t total = 0;
  std::string left;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
    left = "; the device has " + std::to_string(free) + " bytes free of " + std::to_string(total);
  }
  throw Error("cannot allocate " + std::to_string(bytes) + " bytes of " + where + " for " + category + ": " +
              cudaGetErrorName(code) + left);
}

template <class Memory>
class CudaStorage final : public Buffer::Storage {
 public:
  CudaStorage(std::shared_ptr<MemoryLedger> ledger, std::size_t bytes, std::string category,
              const char* where)
      : ledger_(std::move(ledger)), bytes_(bytes), category_(std::move(category)) {
    const cudaError_t code = Memory::allocate(&data_, bytes);
    if (code != cudaSuccess) {
      throw_no_memory(code, where, bytes, category_);
    }
    ledger_->add(category_, bytes_);
  }
  CudaStorage(const CudaStorage&) = delete;
  CudaStorage& operator=(const CudaStorage&) = delete;
  ~CudaStorage() override {
    const cudaError_t code = Memory::release(data_);
    if (code != cudaSuccess && code != cudaErrorCudartUnloading) {
      log_warning(std::string(Memory::release_call) + ": " + cudaGetErrorName(code));
    }
    ledger_->remove(category_, bytes_);
  }
  [[nodiscard]] void* data() const override { return data_; }

 private:
  std::shared_ptr<MemoryLedger> ledger_;
  std::size_t bytes_;
  std::string category_;
  void* data_ = nullptr;
};

}  // namespace

Buffer allocate_cuda_buffer(int index, std::shared_ptr<MemoryLedger> ledger, std::size_t bytes,
                            const std::string& category) {
  if (bytes == 0) {
    return {};
  }
  SHARDGPT_CUDA(cudaSetDevice(index));  // of this thread, which may not be the one that made the device
  return {std::make_unique<CudaStorage<DeviceMemory>>(std::move(ledger), bytes, category, "device memory"),
          bytes};
}

Buffer allocate_pinned_buffer(std::shared_ptr<MemoryLedger> ledger, std::size_t bytes,
                              const std::string& category) {
  if (bytes == 0) {
    return {};
  }
  Buffer buffer(std::make_unique<CudaStorage<PinnedMemory>>(std::move(ledger), bytes, category,
                                                            "page-locked host memory"),
                bytes);
  std::memset(buffer.data(), 0, bytes);
  return buffer;
}

}  // namespace shardgpt
