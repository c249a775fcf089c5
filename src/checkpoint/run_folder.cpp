#include "checkpoint/run_folder.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "checkpoint/checkpoint_info.hpp"
#include "checkpoint/part_files.hpp"
#include "core/atomic_file.hpp"
#include "core/error.hpp"
#include "core/log.hpp"

namespace shardgpt {
namespace {

constexpr std::string_view prefix = "step_";
constexpr std::string_view suffix = ".h5";
constexpr std::string_view temporary_suffix = ".h5.tmp";
constexpr std::string_view damaged_suffix = ".h5.damaged";
constexpr std::size_t digits = 8;

std::filesystem::path folder_of(const std::filesystem::path& run_dir) {
  return run_dir / "checkpoints";
}

/// The step of "step_%08d.h5", nothing for any other name.
std::optional<std::int64_t> parse_name(std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) ||
      name.size() < prefix.size() + digits + suffix.size()) {
    return std::nullopt;
  }
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  const bool whole = error == std::errc() && end == name.data() + name.size() && step >= 0;
  return whole ? std::optional(step) : std::nullopt;
}

/// Step and number of "step_%08d.h5.damaged" (number 1) or "step_%08d.h5.damaged.N", nothing for other names.
std::optional<std::pair<std::int64_t, std::int64_t>> parse_damaged(std::string_view name) {
  const std::size_t at = name.find(damaged_suffix);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const auto step = parse_name(name.substr(0, at + suffix.size()));
  const std::string_view rest = name.substr(at + damaged_suffix.size());
  std::int64_t number = 1;
  if (!rest.empty()) {
    const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), number);
    if (rest.front() != '.' || error != std::errc() || end != rest.data() + rest.size()) {
      return std::nullopt;
    }
  }
  return step ? std::optional(std::pair(*step, number)) : std::nullopt;
}

/// "step_%08d.h5" of a damaged one.
std::filesystem::path original_of(const std::filesystem::path& damaged) {
  std::string name = damaged.filename().string();
  name.resize(name.find(damaged_suffix) + suffix.size());
  return damaged.parent_path() / name;
}

/// Files of the checkpoint folder whose name `wanted` accepts.
template <class Wanted>
std::vector<std::filesystem::path> files_of(const std::filesystem::path& run_dir, Wanted&& wanted) {
  std::vector<std::filesystem::path> found;
  if (std::filesystem::is_directory(folder_of(run_dir))) {
    for (const auto& entry : std::filesystem::directory_iterator(folder_of(run_dir))) {
      if (entry.is_regular_file() && wanted(entry.path().filename().string())) {
        found.push_back(entry.path());
      }
    }
  }
  return found;
}

/// Folders of parts: unfinished ones, and those that got their name but whose index did not.
void remove_stale_parts(const std::filesystem::path& run_dir) {
  if (!std::filesystem::is_directory(folder_of(run_dir))) {
    return;
  }
  std::vector<std::filesystem::path> unfinished;
  std::set<std::filesystem::path> indexes;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(run_dir))) {
    const std::string name = entry.path().filename().string();
    const PartsFolder kind =
        entry.is_directory() && name.starts_with(prefix) ? parts_folder_kind(name) : PartsFolder::none;
    if (kind == PartsFolder::temporary) {
      unfinished.push_back(entry.path());
    } else if (kind == PartsFolder::finished) {
      indexes.insert(index_of_parts(entry.path()));
    }
  }
  for (const auto& path : unfinished) {
    log_info("removing " + path.string() + ", left by an interrupted save");
    std::filesystem::remove_all(path);
  }
  for (const auto& index : indexes) {
    remove_orphan_parts(index);
  }
}

std::vector<std::filesystem::path> surplus_damaged(const std::filesystem::path& run_dir) {
  auto damaged = damaged_checkpoints(run_dir);
  damaged.resize(damaged.size() > kept_damaged ? damaged.size() - kept_damaged : 0);
  return damaged;
}

bool readable(const std::filesystem::path& path) {
  try {
    (void)read_checkpoint_info(path);
    return true;
  } catch (const Error& error) {
    log_warning(error.what());
    return false;
  }
}

}  // namespace

std::filesystem::path checkpoint_path(const std::filesystem::path& run_dir, std::int64_t step) {
  SHARDGPT_EXPECT(step >= 0);
  std::string number = std::to_string(step);
  number.insert(0, number.size() < digits ? digits - number.size() : 0, '0');
  return folder_of(run_dir) / (std::string(prefix) + number + std::string(suffix));
}

std::int64_t step_of(const std::filesystem::path& path) {
  const std::optional<std::int64_t> step = parse_name(path.filename().string());
  SHARDGPT_REQUIRE(step, path.string() + ": its name is not step_NUMBER.h5");
  return *step;
}

std::vector<std::filesystem::path> complete_checkpoints(const std::filesystem::path& run_dir) {
  auto found = files_of(run_dir, [](const std::string& name) { return parse_name(name).has_value(); });
  std::ranges::sort(found, {}, step_of);
  return found;
}

std::vector<std::filesystem::path> damaged_checkpoints(const std::filesystem::path& run_dir) {
  auto found = files_of(run_dir, [](const std::string& name) { return parse_damaged(name).has_value(); });
  std::ranges::sort(found, {}, [](const auto& path) { return *parse_damaged(path.filename().string()); });
  return found;
}

void remove_stale_temporaries(const std::filesystem::path& run_dir) {
  const auto stale = files_of(run_dir, [](const std::string& name) {
    return name.starts_with(prefix) && name.ends_with(temporary_suffix);
  });
  for (const auto& path : stale) {
    log_info("removing " + path.string() + ", left by an interrupted save");
    std::filesystem::remove(path);
  }
  remove_stale_parts(run_dir);
}

void apply_retention(const std::filesystem::path& run_dir, std::int64_t keep, std::int64_t keep_every) {
  SHARDGPT_REQUIRE(keep >= 0, "checkpoints to keep: " + std::to_string(keep) + ", wanted 0 (all) or more");
  const auto all = complete_checkpoints(run_dir);
  const auto count = static_cast<std::int64_t>(all.size());
  const auto surplus = static_cast<std::size_t>(keep == 0 || count <= keep ? 0 : count - keep);
  const std::vector<std::filesystem::path> damaged = surplus_damaged(run_dir);
  if (surplus == 0 && damaged.empty()) {
    return;
  }
  if (std::none_of(all.begin() + static_cast<std::ptrdiff_t>(surplus), all.end(), readable)) {
    log_warning("no checkpoint that would be kept in " + folder_of(run_dir).string() +
                " can be read: nothing is removed");
    return;
  }
  for (std::size_t i = 0; i < surplus; ++i) {
    if (keep_every == 0 || step_of(all[i]) % keep_every != 0) {
      remove_checkpoint(all[i]);
    }
  }
  for (const auto& path : damaged) {
    log_info("removing " + path.string() + ": the newest " + std::to_string(kept_damaged) +
             " damaged checkpoints stay");
    std::filesystem::remove(path);
    remove_orphan_parts(original_of(path));
  }
}

std::filesystem::path set_damaged_aside(const std::filesystem::path& path) {
  std::filesystem::path aside = path.string() + ".damaged";
  for (int number = 2; std::filesystem::exists(aside); ++number) {
    aside = path.string() + ".damaged." + std::to_string(number);
  }
  rename_durably(path, aside);
  return aside;
}

}  // namespace shardgpt
