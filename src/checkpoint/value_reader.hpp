#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <utility>

#include "checkpoint/checkpoint_info.hpp"
#include "checkpoint/layout.hpp"
#include "h5/h5_file.hpp"
#include "model/tensor_table.hpp"

namespace shardgpt {

/// Reads the values of a checkpoint in one file or in several, through plain POSIX reads. Local. Keeps a few
/// files open, so reading in the order of the units is fast.
class ValueReader {
 public:
  /// Opens nothing yet. `info` is what read_checkpoint_info gave for a checkpoint of `table`; both are kept
  /// by reference.
  ValueReader(const CheckpointInfo& info, const TensorTable& table) : info_(info), table_(table) {}

  /// Elements [begin, begin + values.size()) of a unit. Throws H5Error naming the file.
  void read(std::int64_t unit, StateKind kind, std::int64_t begin, std::span<float> values);

 private:
  const H5File& open_part(std::int64_t part);

  const CheckpointInfo& info_;
  const TensorTable& table_;
  std::deque<std::pair<std::int64_t, H5File>> open_;
};

}  // namespace shardgpt
