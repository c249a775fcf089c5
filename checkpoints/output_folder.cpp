#include "checkpoints/output_folder.hpp"

#include <string>
#include <utility>

#include <unistd.h>

#include "core/atomic_file.hpp"
#include "core/error.hpp"

namespace shardgpt {
namespace {

std::filesystem::path sibling(const std::filesystem::path& target, const std::string& ending) {
  return target.string() + "." + ending + "." + std::to_string(::getpid());
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

void PendingOutput::require_space(std::int64_t bytes) const {
  const std::filesystem::path folder = target_.has_parent_path() ? target_.parent_path() : ".";
  const std::uintmax_t available = std::filesystem::space(folder).available;
  if (std::cmp_less(available, bytes)) {
    throw Error("cannot write " + target_.string() + ": it needs " + std::to_string(bytes) + " bytes, " +
                std::to_string(available) + " are free in " + folder.string());
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
