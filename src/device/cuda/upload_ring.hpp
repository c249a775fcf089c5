#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "device/cuda/cuda_stream.hpp"
#include "device/device.hpp"

namespace shardgpt {

/// Page-locked memory that uploads pass through, so that the caller's memory is free again at once and the
/// host does not wait for the device: only when all pieces are under way does it wait for the oldest. Not
/// thread-safe: one host thread issues.
class UploadRing {
 public:
  /// `memory` is page-locked and cut into `pieces` equal pieces.
  UploadRing(Buffer memory, std::size_t pieces, const Failure& failure);

  /// Copies `bytes` from host memory, which may be of any kind, to device memory behind the earlier work of
  /// `stream`.
  void upload(void* to, const void* host, std::size_t bytes, Stream& stream);

 private:
  Buffer memory_;
  std::size_t piece_bytes_;
  std::vector<std::unique_ptr<CudaEvent>> used_;  // by piece: its last copy is done
  std::size_t next_ = 0;
};

}  // namespace shardgpt
