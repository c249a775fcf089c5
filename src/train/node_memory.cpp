#include "train/node_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "core/this_process.hpp"
#include "train/plan.hpp"

namespace shardgpt {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

/// The number that a file holds; `unlimited` for "max", or where there is no such file.
std::uint64_t limit_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::uint64_t value = 0;
  return stream >> value ? value : unlimited;
}

std::uint64_t machine_memory(const std::filesystem::path& root) {
  std::ifstream meminfo(root / "proc/meminfo");
  std::uint64_t kibibytes = 0;
  for (std::string name; meminfo >> name;) {
    if (name == "MemTotal:" && meminfo >> kibibytes) {
      return kibibytes * 1024;
    }
  }
  return unlimited;
}

/// The least limit of the group `group` and those above it, under `mount`.
std::uint64_t group_limit(const std::filesystem::path& mount, std::filesystem::path group, const char* file) {
  std::uint64_t least = unlimited;
  for (group = group.relative_path();; group = group.parent_path()) {
    least = std::min(least, limit_in(mount / group / file));
    if (group.empty()) {
      return least;
    }
  }
}

std::uint64_t groups_limit(const std::filesystem::path& root) {
  std::uint64_t least = unlimited;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "HIERARCHY:CONTROLLERS:GROUP"
    std::istringstream fields(line);
    std::string hierarchy;
    std::string controllers;
    std::string group;
    std::getline(fields, hierarchy, ':');
    std::getline(fields, controllers, ':');
    std::getline(fields, group);
    const std::filesystem::path mounts = root / "sys/fs/cgroup";
    if (controllers.empty()) {
      least = std::min(least, group_limit(mounts, group, "memory.max"));
    } else if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      least = std::min(least, group_limit(mounts / "memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

}  // namespace

std::size_t node_memory_bytes(const std::filesystem::path& root) {
  const std::uint64_t least = std::min(machine_memory(root), groups_limit(root));
  return least == unlimited ? 0 : static_cast<std::size_t>(least);
}

void require_host_memory(const MpiComm& comm, std::size_t per_rank, std::size_t available) {
  const auto ranks = static_cast<std::size_t>(comm.split_by_node().size());
  const std::size_t needed = ranks * per_rank;
  run_phase(comm, [&] {
    SHARDGPT_REQUIRE(
        available == 0 || needed <= available,
        fmt::format("the {} rank(s) on {} need {} of memory, {} each, and may use {}: take more nodes, a "
                    "smaller --micro-batch or --seq-len, --recompute block, or --save sync",
                    ranks, host_name(), format_bytes(needed), format_bytes(per_rank),
                    format_bytes(available)));
  });
}

}  // namespace shardgpt
