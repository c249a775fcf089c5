#include "checkpoint/resume.hpp"

#include <algorithm>
#include <string>

#include "checkpoint/checkpoint_error.hpp"
#include "checkpoint/run_folder.hpp"
#include "core/log.hpp"

namespace shardgpt {
namespace {

/// On all ranks.
[[noreturn]] void throw_only_damaged(const std::filesystem::path& run_dir, std::size_t damaged) {
  throw AgreedError("run folder " + run_dir.string() + " holds " + std::to_string(damaged) +
                    " damaged checkpoint(s) and no sound one; remove them to start over, or restore one");
}

/// Renames on rank 0; the outcome is agreed on.
void set_aside(const MpiComm& comm, const std::filesystem::path& path, const DamagedCheckpoint& error) {
  run_phase(comm, [&] {
    if (comm.rank() == 0) {
      const std::filesystem::path aside = set_damaged_aside(path);
      log_warning(std::string(error.what()) + "; renamed to " + aside.filename().string() +
                  ", the next older checkpoint is tried");
    }
  });
}

}  // namespace

std::vector<std::filesystem::path> find_resumable(const MpiComm& comm, const std::filesystem::path& run_dir) {
  std::string listing;  // each path is ended by a zero byte
  run_phase(comm, [&] {
    if (comm.rank() == 0) {
      auto found = complete_checkpoints(run_dir);
      const std::size_t damaged = damaged_checkpoints(run_dir).size();
      if (found.empty() && damaged > 0) {
        throw_only_damaged(run_dir, damaged);
      }
      std::ranges::reverse(found);
      for (const auto& path : found) {
        listing += path.string() + '\0';
      }
    }
  });
  listing = comm.broadcast(listing, 0);
  std::vector<std::filesystem::path> paths;
  for (std::size_t at = 0; at < listing.size();) {
    const std::size_t end = listing.find('\0', at);
    paths.emplace_back(listing.substr(at, end - at));
    at = end + 1;
  }
  return paths;
}

std::optional<CheckpointInfo> newest_checkpoint_info(const MpiComm& comm,
                                                     const std::filesystem::path& run_dir) {
  const auto candidates = find_resumable(comm, run_dir);
  for (const auto& path : candidates) {
    try {
      return read_checkpoint_info(comm, path);
    } catch (const DamagedCheckpoint& error) {
      if (comm.rank() == 0) {
        log_warning(error.what());
      }
    }
  }
  if (!candidates.empty()) {
    throw_only_damaged(run_dir, candidates.size());
  }
  return std::nullopt;
}

std::optional<CheckpointInfo> load_newest(const MpiComm& comm, const std::filesystem::path& run_dir,
                                          const TensorTable& table, std::span<const MutableUnitPiece> pieces,
                                          const LoadOptions& options) {
  const auto candidates = find_resumable(comm, run_dir);
  for (const auto& path : candidates) {
    try {
      CheckpointInfo info = read_checkpoint_info(comm, path);
      load_checkpoint(comm, info, table, pieces, options);
      return info;
    } catch (const DamagedCheckpoint& error) {  // thrown on all ranks or on none
      set_aside(comm, path, error);
    }
  }
  if (!candidates.empty()) {
    throw_only_damaged(run_dir, candidates.size());
  }
  return std::nullopt;
}

}  // namespace shardgpt
