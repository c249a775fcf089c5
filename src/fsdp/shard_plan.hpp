#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shardgpt {

/// How one unit's flat buffer is divided over ranks: equal pieces of the padded buffer, rank r owning piece
/// r.
struct UnitPlan {
  std::int64_t elements = 0;  ///< logical elements, without padding
  std::int64_t piece = 0;     ///< elements per rank, padding included; a multiple of shard_alignment
  [[nodiscard]] std::int64_t padded(int ranks) const { return piece * ranks; }
  /// First logical element of `rank`; `elements` where its piece is all padding.
  [[nodiscard]] std::int64_t begin(int rank) const;
  /// Logical elements of `rank`; may be 0.
  [[nodiscard]] std::int64_t count(int rank) const;
};

/// Elements; keeps pieces on 64-byte borders in BF16 and FP32.
inline constexpr std::int64_t shard_alignment = 32;

/// Plans of all units for `ranks` ranks; unit 0 is the root, the others are blocks in forward order.
[[nodiscard]] std::vector<UnitPlan> make_shard_plan(std::span<const std::int64_t> unit_elements, int ranks);

}  // namespace shardgpt
