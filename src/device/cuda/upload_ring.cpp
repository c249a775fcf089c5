#include "device/cuda/upload_ring.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/cuda/cuda_check.hpp"

namespace shardgpt {

UploadRing::UploadRing(Buffer memory, std::size_t pieces, const Failure& failure)
    : memory_(std::move(memory)), piece_bytes_(memory_.bytes() / pieces) {
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    used_.push_back(std::make_unique<CudaEvent>(failure));
  }
}

void UploadRing::upload(void* to, const void* host, std::size_t bytes, Stream& stream) {
  for (std::size_t begin = 0; begin < bytes; begin += piece_bytes_) {
    const std::size_t length = std::min(piece_bytes_, bytes - begin);
    const std::size_t piece = std::exchange(next_, (next_ + 1) % used_.size());
    std::byte* staged = memory_.as<std::byte>() + piece * piece_bytes_;
    used_[piece]->synchronize();
    std::memcpy(staged, static_cast<const std::byte*>(host) + begin, length);
    SHARDGPT_CUDA(cudaMemcpyAsync(static_cast<std::byte*>(to) + begin, staged, length, cudaMemcpyHostToDevice,
                                  raw_stream(stream)));
    stream.record(*used_[piece]);
  }
}

}  // namespace shardgpt
