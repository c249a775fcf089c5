#include "checkpoint/run_folder.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "checkpoint/checkpoint_info.hpp"
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
  return files_of(run_dir, [](const std::string& name) {
    return name.starts_with(prefix) && name.find(damaged_suffix) != std::string::npos;
  });
}

void remove_stale_temporaries(const std::filesystem::path& run_dir) {
  const auto stale = files_of(run_dir, [](const std::string& name) {
    return name.starts_with(prefix) && name.ends_with(temporary_suffix);
  });
  for (const auto& path : stale) {
    log_info("removing " + path.string() + ", left by an interrupted save");
    std::filesystem::remove(path);
  }
}

void apply_retention(const std::filesystem::path& run_dir, std::int64_t keep, std::int64_t keep_every) {
  SHARDGPT_REQUIRE(keep >= 0, "checkpoints to keep: " + std::to_string(keep) + ", wanted 0 (all) or more");
  const auto all = complete_checkpoints(run_dir);
  if (keep == 0 || static_cast<std::int64_t>(all.size()) <= keep) {
    return;
  }
  const std::size_t surplus = all.size() - static_cast<std::size_t>(keep);
  if (std::none_of(all.begin() + static_cast<std::ptrdiff_t>(surplus), all.end(), readable)) {
    log_warning("no checkpoint that would be kept in " + folder_of(run_dir).string() +
                " can be read: nothing is removed");
    return;
  }
  for (std::size_t i = 0; i < surplus; ++i) {
    if (keep_every == 0 || step_of(all[i]) % keep_every != 0) {
      std::filesystem::remove(all[i]);
    }
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
