#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/device.hpp"
#include "train/shard_piece.hpp"

namespace shardgpt {

/// A copy of one rank's shards in host memory, made on the copy stream beside compute, for a save that goes
/// on while training does. Each unit is copied behind the event of its update, and its next update waits for
/// the copy. The memory is entered as "checkpoint staging".
class ShardStaging {
 public:
  /// `shards`: where the shards lie; they stay there.
  ShardStaging(Device& device, std::span<const ShardPiece> shards);

  /// Bytes that a rank with shards of `elements` in all needs.
  [[nodiscard]] static std::size_t bytes(std::size_t elements);

  /// Starts a copy; copy_unit follows for every unit in order. Nobody may be reading the copy made before.
  void begin();
  /// Issues the copy of one unit behind the last record of `updated`.
  void copy_unit(std::int64_t unit, const Event& updated);
  /// `compute` is about to update a unit: it waits for the unit's copy, if one was issued since begin.
  void before_update(std::int64_t unit, Stream& compute);

  /// Blocks the calling thread, which may be another than the issuing one, until the copy is complete.
  void wait() const;
  /// Seconds from the first byte to the last of a complete copy.
  [[nodiscard]] double copy_seconds() const;
  /// The copies; to be read behind wait.
  /// Writing to them changes nothing but them.
  [[nodiscard]] std::span<const ShardPiece> pieces() const { return copies_; }

 private:
  Device& device_;
  Stream& copy_;
  Buffer memory_;
  std::vector<ShardPiece> shards_;
  std::vector<ShardPiece> copies_;
  std::vector<std::unique_ptr<Event>> copied_;  // by unit
  std::vector<char> holds_update_;              // by unit: a copy was issued that no update has waited for
  std::unique_ptr<Event> begun_;
};

}  // namespace shardgpt
