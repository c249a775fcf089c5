#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "checkpoint/checkpoint_info.hpp"
#include "checkpoint/layout.hpp"
#include "core/page_cache.hpp"
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
  /// Lets the disk fetch `count` elements that a later read will want.
  void read_soon(std::int64_t unit, StateKind kind, std::int64_t begin, std::int64_t count);

 private:
  struct OpenPart {
    std::int64_t part;
    H5File file;
    PageCacheAdvice advice;
  };
  const OpenPart& open_part(std::int64_t part);
  /// Calls work(part, dataset, offset in it, first element, elements) for the runs of elements asked for.
  template <class Work>
  void for_each_run(std::int64_t unit, StateKind kind, std::int64_t begin, std::int64_t count, Work&& work);

  const CheckpointInfo& info_;
  const TensorTable& table_;
  std::deque<OpenPart> open_;
};

}  // namespace shardgpt
