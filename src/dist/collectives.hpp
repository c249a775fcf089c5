#pragma once

#include <cstddef>

#include "core/dtype.hpp"
#include "device/device.hpp"

namespace shardgpt {

/// The collective operations of a training step, issued to a stream and run in issue order over both
/// communication streams. Every rank issues the same sequence. A peer that does not answer within the
/// time-out, or is lost, fails the device's streams with Error naming the operation.
class Collectives {
 public:
  virtual ~Collectives() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  /// `full` holds size() pieces of `count` elements; piece rank() is this rank's contribution and already in
  /// place.
  virtual void all_gather_in_place(void* full, DType type, std::size_t count, Stream& stream) = 0;
  /// `full` holds size() pieces of `count` floats; the sum over ranks of piece rank(), taken in rank order,
  /// is written or added to `shard`. `full` may be overwritten. A single rank may give its shard as `full`,
  /// when the sum replaces it: then it stays as it is.
  virtual void reduce_scatter(float* full, float* shard, std::size_t count, bool accumulate,
                              Stream& stream) = 0;
  /// Replaces `values` by their sum over ranks, taken in rank order: the same bits on every rank.
  virtual void all_reduce_sum(double* values, std::size_t count, Stream& stream) = 0;
};

}  // namespace shardgpt
