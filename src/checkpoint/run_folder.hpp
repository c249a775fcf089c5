#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace shardgpt {

/// RUN/checkpoints/step_00001000.h5. Every function here is local: one rank calls it for all.
[[nodiscard]] std::filesystem::path checkpoint_path(const std::filesystem::path& run_dir, std::int64_t step);

/// The checkpoints under their final names, in the order of their steps: the newest is last. An absent folder
/// has none.
[[nodiscard]] std::vector<std::filesystem::path> complete_checkpoints(const std::filesystem::path& run_dir);

/// The step in a checkpoint's name. `path` must come from checkpoint_path or complete_checkpoints.
[[nodiscard]] std::int64_t step_of(const std::filesystem::path& path);

/// Damaged checkpoints that were set aside, in the order of their steps and, within a step, of their numbers.
[[nodiscard]] std::vector<std::filesystem::path> damaged_checkpoints(const std::filesystem::path& run_dir);

/// Removes what interrupted saves left: temporary files and folders of parts without an index. Only for the
/// holder of the run's lock.
void remove_stale_temporaries(const std::filesystem::path& run_dir);

/// So many damaged checkpoints stay: those of the highest steps.
inline constexpr std::size_t kept_damaged = 3;

/// Removes all but the newest `keep` checkpoints and those whose step is a multiple of `keep_every`; keep 0
/// keeps all, keep_every 0 none for its step; and all but the newest `kept_damaged` of those set aside.
/// Removes nothing where none of the newest `keep` can be read, so the last good one stays.
void apply_retention(const std::filesystem::path& run_dir, std::int64_t keep, std::int64_t keep_every = 0);

/// Renames a damaged checkpoint to NAME.damaged (or .damaged.2, ...) and returns the new name. The parts of
/// one in several files keep their names, to which its index refers.
std::filesystem::path set_damaged_aside(const std::filesystem::path& path);

}  // namespace shardgpt
