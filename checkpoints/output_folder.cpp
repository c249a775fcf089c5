#include "checkpoints/output_folder.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <string>
#include <utility>

#include <unistd.h>

#include "core/atomic_file.hpp"
#include "core/error.hpp"
#include "core/this_process.hpp"

namespace shardgpt {
namespace {

/// "NAME.tmp.HOST." and the number of a process.
std::string sibling_prefix(const std::filesystem::path& target, const std::string& ending) {
  return target.string() + "." + ending + "." + host_name() + ".";
}

std::filesystem::path sibling(const std::filesystem::path& target, const std::string& ending) {
  return sibling_prefix(target, ending) + std::to_string(::getpid());
}

/// Removes what killed processes of this machine left of earlier tries.
void remove_left_overs(const std::filesystem::path& target, const std::filesystem::path& folder) {
  const std::string prefix = std::filesystem::path(sibling_prefix(target, "tmp")).filename().string();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    pid_t process = 0;
    const char* const end = name.data() + name.size();
    if (!name.starts_with(prefix) || std::from_chars(name.data() + prefix.size(), end, process).ptr != end ||
        process <= 0) {
      continue;
    }
    if (::kill(process, 0) != 0 && errno == ESRCH) {
      std::filesystem::remove_all(entry.path());
    }
  }
}

void require_free(const std::filesystem::path& target, PendingOutput::Kind kind, Overwrite overwrite) {
  if (!std::filesystem::exists(std::filesystem::symlink_status(target))) {
    return;
  }
  const bool is_folder = std::filesystem::is_directory(target);
  SHARDGPT_REQUIRE(is_folder == (kind == PendingOutput::Kind::folder),
                   "output " + target.string() + (is_folder ? " is a folder" : " is not a folder"));
  SHARDGPT_REQUIRE(overwrite == Overwrite::allow || (is_folder && std::filesystem::is_empty(target)),
                   "output " + target.string() + " exists; remove it, choose another, or give --overwrite");
}

}  // namespace

PendingOutput::PendingOutput(std::filesystem::path target, Kind kind, Overwrite overwrite)
    : target_(std::move(target)), kind_(kind) {
  if (!target_.has_filename()) {
    target_ = target_.parent_path();  // "dir/"
  }
  SHARDGPT_REQUIRE(!target_.empty(), "the output has no name");
  require_free(target_, kind, overwrite);
  if (target_.has_parent_path()) {
    std::filesystem::create_directories(target_.parent_path());
  }
  remove_left_overs(target_, folder());
  temporary_ = sibling(target_, "tmp");
  std::filesystem::remove_all(temporary_);
  if (kind_ == Kind::folder) {
    std::filesystem::create_directory(temporary_);
  }
}

PendingOutput::~PendingOutput() {
  if (!published_) {
    std::error_code ignored;  // the error that ended the work is the one to report
    std::filesystem::remove_all(temporary_, ignored);
  }
}

std::filesystem::path PendingOutput::folder() const {
  return target_.has_parent_path() ? target_.parent_path() : ".";
}

void PendingOutput::require_space(std::int64_t bytes) const {
  const std::uintmax_t available = std::filesystem::space(folder()).available;
  if (std::cmp_less(available, bytes)) {
    throw Error("cannot write " + target_.string() + ": it needs " + std::to_string(bytes) + " bytes, " +
                std::to_string(available) + " are free in " + folder().string());
  }
}

void PendingOutput::publish() {
  if (kind_ == Kind::file) {
    sync_file(temporary_);
    rename_durably(temporary_, target_);
  } else {
    for (const auto& entry : std::filesystem::directory_iterator(temporary_)) {
      sync_file(entry.path());
    }
    sync_folder(temporary_);
    replace_folder();
  }
  published_ = true;
}

void PendingOutput::replace_folder() const {
  if (!std::filesystem::exists(target_) || std::filesystem::is_empty(target_)) {
    rename_durably(temporary_, target_);  // rename(2) replaces an empty folder
    return;
  }
  const std::filesystem::path old = sibling(target_, "old");
  rename_durably(target_, old);
  rename_durably(temporary_, target_);
  std::filesystem::remove_all(old);
}

}  // namespace shardgpt
