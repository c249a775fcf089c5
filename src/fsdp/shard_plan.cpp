#include "fsdp/shard_plan.hpp"

#include <algorithm>

#include "core/checked.hpp"

namespace shardgpt {

std::int64_t UnitPlan::begin(int rank) const {
  return std::min(piece * rank, elements);
}

std::int64_t UnitPlan::count(int rank) const {
  return std::min(piece * (rank + 1), elements) - begin(rank);
}

std::vector<UnitPlan> make_shard_plan(std::span<const std::int64_t> unit_elements, int ranks) {
  std::vector<UnitPlan> plans;
  for (const std::int64_t elements : unit_elements) {
    const std::int64_t padded = round_up(elements, checked_mul<std::int64_t>(ranks, shard_alignment));
    plans.push_back({elements, padded / ranks});
  }
  return plans;
}

}  // namespace shardgpt
