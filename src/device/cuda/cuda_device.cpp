#include "device/cuda/cuda_device.hpp"

#include <array>
#include <stdexcept>
#include <utility>

#include <cuda_runtime_api.h>

#include "device/cuda/cast.hpp"
#include "device/cuda/cuda_check.hpp"
#include "device/cuda/cuda_memory.hpp"
#include "device/cuda/cuda_stream.hpp"
#include "device/cuda/upload_ring.hpp"

namespace shardgpt {
namespace {

constexpr std::size_t upload_pieces = 32;
constexpr std::size_t upload_piece_bytes = std::size_t{256} << 10U;

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index)
      : index_(select(index)),
        streams_{CudaStream(StreamRole::compute, StreamPriority::usual, failure_),
                 CudaStream(StreamRole::gather, StreamPriority::high, failure_),
                 CudaStream(StreamRole::reduce, StreamPriority::high, failure_),
                 CudaStream(StreamRole::copy, StreamPriority::usual, failure_)},
        setup_(StreamRole::copy, StreamPriority::usual, failure_),
        uploads_(allocate_pinned_buffer(ledger_, upload_pieces * upload_piece_bytes, "uploads (host)"),
                 upload_pieces, failure_) {}

  [[nodiscard]] DeviceKind kind() const override { return DeviceKind::cuda; }
  [[nodiscard]] std::string description() const override {
    cudaDeviceProp properties{};
    SHARDGPT_CUDA(cudaGetDeviceProperties(&properties, index_));
    return "cuda " + std::to_string(index_) + ", " + properties.name;
  }
  [[nodiscard]] Stream& stream(StreamRole role) override {
    return streams_.at(static_cast<std::size_t>(role));
  }
  [[nodiscard]] std::unique_ptr<Event> make_event() override { return std::make_unique<CudaEvent>(failure_); }

  [[nodiscard]] Buffer allocate(std::size_t bytes, const std::string& category) override {
    Buffer buffer = allocate_cuda_buffer(index_, ledger_, bytes, category);
    // On a stream of its own: the caller's may be busy, and the default stream orders nothing here.
    fill_zero(buffer.data(), bytes, setup_);
    SHARDGPT_CUDA(cudaStreamSynchronize(setup_.raw()));
    return buffer;
  }
  [[nodiscard]] Buffer allocate_host(std::size_t bytes, const std::string& category) override {
    return allocate_pinned_buffer(ledger_, bytes, category);
  }
  [[nodiscard]] std::vector<MemoryUse> memory_use() const override { return ledger_->table(); }

  void copy(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    if (bytes > 0) {
      SHARDGPT_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, raw_stream(stream)));
    }
  }
  void fill_zero(void* to, std::size_t bytes, Stream& stream) override {
    if (bytes > 0) {
      SHARDGPT_CUDA(cudaMemsetAsync(to, 0, bytes, raw_stream(stream)));
    }
  }
  void cast(void* to, DType type, const float* from, std::size_t count, Stream& stream) override {
    if (type == DType::f32) {
      copy(to, from, count * sizeof(float), stream);
    } else if (type == DType::bf16) {
      cuda::cast_to_bf16(static_cast<bf16*>(to), from, count, raw_stream(stream));
    } else {
      throw std::logic_error("cast to a type that holds no real numbers");
    }
  }
  void upload(void* to, const void* host, std::size_t bytes, Stream& stream) override {
    uploads_.upload(to, host, bytes, stream);
  }
  void download(void* host, const void* from, std::size_t bytes, Stream& stream) override {
    if (bytes > 0) {
      SHARDGPT_CUDA(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, raw_stream(stream)));
    }
  }

 private:
  static int select(int index) {
    SHARDGPT_CUDA(cudaSetDevice(index));
    return index;
  }

  int index_;
  std::shared_ptr<MemoryLedger> ledger_ = std::make_shared<MemoryLedger>();
  Failure failure_;
  std::array<CudaStream, stream_role_count> streams_;
  CudaStream setup_;
  UploadRing uploads_;
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(int index) {
  return std::make_unique<CudaDevice>(index);
}

std::size_t free_cuda_memory(int index) {
  std::size_t free = 0;
  std::size_t total = 0;
  SHARDGPT_CUDA(cudaSetDevice(index));
  SHARDGPT_CUDA(cudaMemGetInfo(&free, &total));
  return free;
}

}  // namespace shardgpt
