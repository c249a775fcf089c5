#include "checkpoint/part_plan.hpp"

#include <cstring>
#include <map>
#include <string>
#include <type_traits>

#include "core/checked.hpp"

namespace shardgpt {
namespace {

/// The first rank within `comm` of this rank's group; `group` orders its ranks as `comm` does.
std::int64_t leader_of(const MpiComm& comm, const MpiComm& group) {
  return -group.maximum(-static_cast<std::int64_t>(comm.rank()));
}

std::string pack(std::span<const UnitPiece> pieces) {
  static_assert(std::is_trivially_copyable_v<PartRun>);
  std::string packed;
  for (const UnitPiece& piece : pieces) {
    const PartRun run{0, piece.unit, piece.begin, static_cast<std::int64_t>(piece.param.size()), 0};
    packed.append(reinterpret_cast<const char*>(&run), sizeof(run));
  }
  return packed;
}

std::vector<PartRun> unpack(const std::string& packed) {
  std::vector<PartRun> runs(packed.size() / sizeof(PartRun));
  if (!runs.empty()) {
    std::memcpy(runs.data(), packed.data(), packed.size());
  }
  return runs;
}

}  // namespace

MpiComm split_by_file(const MpiComm& comm, std::int64_t ranks_per_file) {
  MpiComm node = comm.split_by_node();
  if (ranks_per_file == 0 || ranks_per_file >= node.size()) {
    // The same on all ranks of the node.
    return node;
  }
  return node.split(node.rank() / narrow<int>(ranks_per_file));
}

PartPlan plan_parts(const MpiComm& comm, const MpiComm& group, std::span<const UnitPiece> pieces) {
  const auto own_leader = static_cast<std::uint64_t>(leader_of(comm, group));
  const std::vector<std::uint64_t> leaders = comm.all_gather(own_leader);
  const std::vector<std::string> packed = comm.all_gather(pack(pieces));
  std::vector<PartRun> runs;
  std::map<std::uint64_t, std::int64_t> parts;  // by leader; only groups with elements
  for (std::size_t rank = 0; rank < packed.size(); ++rank) {
    for (PartRun run : unpack(packed[rank])) {
      if (run.count > 0) {
        run.part = static_cast<std::int64_t>(leaders[rank]);
        parts.emplace(leaders[rank], 0);
        runs.push_back(run);
      }
    }
  }
  PartPlan plan;
  for (auto& [leader, part] : parts) {
    part = plan.parts++;
  }
  for (PartRun& run : runs) {
    run.part = parts.at(static_cast<std::uint64_t>(run.part));
  }
  plan.runs = pack_runs(std::move(runs));
  const auto own = parts.find(own_leader);
  plan.own_part = own == parts.end() ? -1 : own->second;
  return plan;
}

}  // namespace shardgpt
