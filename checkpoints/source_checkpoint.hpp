#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "checkpoint/checkpoint_info.hpp"
#include "checkpoint/layout.hpp"
#include "checkpoint/value_reader.hpp"
#include "model/tensor_table.hpp"

namespace shardgpt {

/// The checkpoint file that `path` means: itself, or the newest of a run folder or of its checkpoints/.
[[nodiscard]] std::filesystem::path resolve_checkpoint(const std::filesystem::path& path);

/// A checkpoint opened for conversion; its tensors are read piece by piece and checked against their
/// checksums.
class SourceCheckpoint {
 public:
  explicit SourceCheckpoint(const std::filesystem::path& path);
  SourceCheckpoint(const SourceCheckpoint&) = delete;
  SourceCheckpoint& operator=(const SourceCheckpoint&) = delete;

  [[nodiscard]] const CheckpointInfo& info() const { return info_; }
  [[nodiscard]] const TensorTable& table() const { return table_; }

  /// Calls consume(values) with consecutive pieces of one tensor, whole rows each. Throws DamagedCheckpoint
  /// after the last where the checksum is wrong: what was made of the pieces must not be kept then.
  void stream(const TensorSpec& tensor, StateKind kind,
              const std::function<void(std::span<const float>)>& consume) const;

 private:
  CheckpointInfo info_;
  TensorTable table_;
  TensorChecksums checksums_;
  mutable ValueReader values_;  // opens files as they are needed
};

}  // namespace shardgpt
