#include "train/placement.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "core/this_process.hpp"

namespace shardgpt {
namespace {

// Open MPI's and NCCL's shared-memory transports take some megabytes for each pair of ranks of a node.
constexpr long long shared_memory_per_rank = 32LL << 20;
// Network cards register buffers by locking them; below this InfiniBand does not even start.
constexpr long long least_locked_memory = 64LL << 20;

/// 0, 1, 2, 5 as "0-2,5".
std::string ranges_text(const std::vector<int>& numbers) {
  std::vector<std::string> ranges;
  for (std::size_t begin = 0; begin < numbers.size();) {
    std::size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) {
      ++end;
    }
    ranges.push_back(end - begin == 1 ? std::to_string(numbers[begin])
                                      : fmt::format("{}-{}", numbers[begin], numbers[end - 1]));
    begin = end;
  }
  return fmt::format("{}", fmt::join(ranges, ","));
}

bool alike(const RankPlace& a, const RankPlace& b) {
  return a.host == b.host && a.cores == b.cores && a.threads == b.threads;
}

using HostAndCores = std::pair<std::string, std::vector<int>>;

}  // namespace

RankPlace own_place(int threads) {
  RankPlace place;
  place.host = host_name();
  place.cores = allowed_cores();
  place.threads = threads;
  struct statvfs shm = {};
  if (::statvfs("/dev/shm", &shm) == 0) {
    place.shared_memory_bytes = static_cast<long long>(shm.f_bavail) * static_cast<long long>(shm.f_frsize);
  }
  struct rlimit locked = {};
  if (::getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != RLIM_INFINITY) {
    place.locked_memory_bytes = static_cast<long long>(locked.rlim_cur);
  }
  return place;
}

std::vector<RankPlace> gather_places(const MpiComm& comm, const RankPlace& own) {
  const nlohmann::json mine = {own.host, own.cores, own.threads, own.shared_memory_bytes,
                               own.locked_memory_bytes};
  std::vector<RankPlace> places;
  for (const std::string& text : comm.all_gather(mine.dump())) {
    const auto json = nlohmann::json::parse(text);
    places.push_back({json[0], json[1], json[2], json[3], json[4]});
  }
  return places;
}

std::string describe_places(const std::vector<RankPlace>& places, const std::string& device) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < places.size();) {
    std::size_t end = begin + 1;
    while (end < places.size() && alike(places[begin], places[end])) {
      ++end;
    }
    const RankPlace& place = places[begin];
    const std::string ranks =
        end - begin == 1 ? fmt::format("rank {}", begin) : fmt::format("ranks {}-{}", begin, end - 1);
    lines.push_back(fmt::format("{} on {}: {}, cores {}, {} thread(s){}", ranks, place.host, device,
                                ranges_text(place.cores), place.threads, end - begin == 1 ? "" : " each"));
    begin = end;
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::vector<std::string> placement_warnings(const std::vector<RankPlace>& places) {
  std::map<HostAndCores, int> threads_on;
  std::map<HostAndCores, int> ranks_on;
  std::map<std::string, int> ranks_of_host;
  for (const RankPlace& place : places) {
    threads_on[{place.host, place.cores}] += place.threads;
    ++ranks_on[{place.host, place.cores}];
    ++ranks_of_host[place.host];
  }
  std::vector<std::string> warnings;
  for (const auto& [where, threads] : threads_on) {
    const auto& [host, cores] = where;
    if (!cores.empty() && threads > static_cast<int>(cores.size())) {
      warnings.push_back(fmt::format(
          "{} rank(s) on {} compute with {} threads on core(s) {}: they will wait for one another. Give "
          "them more cores (srun: --cpus-per-task and SRUN_CPUS_PER_TASK; mpirun: --bind-to none or "
          "--map-by slot:PE=N) or fewer --threads",
          ranks_on[where], host, threads, ranges_text(cores)));
      break;  // one host tells it all
    }
  }
  for (const RankPlace& place : places) {
    const long long wanted = shared_memory_per_rank * ranks_of_host[place.host];
    if (place.shared_memory_bytes >= 0 && ranks_of_host[place.host] > 1 &&
        place.shared_memory_bytes < wanted) {
      warnings.push_back(
          fmt::format("/dev/shm on {} has {} MiB free for {} ranks, {} MiB are advised: MPI and NCCL "
                      "use it (containers: --shm-size)",
                      place.host, place.shared_memory_bytes >> 20, ranks_of_host[place.host], wanted >> 20));
      break;
    }
  }
  for (const RankPlace& place : places) {
    if (ranks_of_host.size() > 1 && place.locked_memory_bytes >= 0 &&
        place.locked_memory_bytes < least_locked_memory) {
      warnings.push_back(
          fmt::format("processes on {} may lock {} KiB of memory: InfiniBand needs more (ulimit -l "
                      "unlimited; Slurm: PropagateResourceLimitsExcept=MEMLOCK)",
                      place.host, place.locked_memory_bytes >> 10));
      break;
    }
  }
  return warnings;
}

}  // namespace shardgpt
