#include "tokens/folder_claim.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/log.hpp"

namespace shardgpt {
namespace {

std::string_view name_of(FolderClaim::State state) {
  switch (state) {
    case FolderClaim::State::replacing:
      return "replacing\n";
    case FolderClaim::State::publishing:
      return "publishing\n";
    case FolderClaim::State::empty:
      break;
  }
  return "writing\n";
}

[[noreturn]] void throw_errno(const char* action, const std::filesystem::path& path) {
  throw Error(std::string("cannot ") + action + ' ' + path.string() + ": " + std::strerror(errno));
}

}  // namespace

FolderClaim::FolderClaim(std::filesystem::path folder) : path_(std::move(folder) / claim_file_name) {
  open();
  std::array<char, 16> buffer{};
  const std::string_view left = recorded(buffer.data(), buffer.size());
  // A run that was killed while it prepared to replace a set has left that set whole.
  has_leftovers_ = !left.empty() && left != name_of(State::replacing);
  state_ = has_leftovers_ ? State::publishing : State::empty;
}

void FolderClaim::open() {
  while (true) {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) {
      throw_errno("create", path_);
    }
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(file_);
      throw_input_error("another shardgpt-prep is writing to " + path_.parent_path().string() +
                        " (it holds " + path_.filename().string() +
                        "); wait for it, or choose another folder");
    }
    // Elsewhere the file system knows no locks: go on without.
    struct stat status {};
    if (::fstat(file_, &status) != 0 || status.st_nlink != 0) {
      return;
    }
    ::close(file_);  // its owner has just removed it: the lock is on nothing
  }
}

std::string_view FolderClaim::recorded(char* buffer, std::size_t size) const {
  const ssize_t got = ::pread(file_, buffer, size, 0);
  return {buffer, got > 0 ? static_cast<std::size_t>(got) : 0};
}

void FolderClaim::set(State state) {
  const std::string_view name = name_of(state);
  if (::ftruncate(file_, 0) != 0 ||
      ::pwrite(file_, name.data(), name.size(), 0) != static_cast<ssize_t>(name.size()) ||
      ::fsync(file_) != 0) {
    throw_errno("write", path_);
  }
  state_ = state;
}

void FolderClaim::remove() noexcept {
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) {
    log_warning("cannot remove " + path_.string() + ": " + std::strerror(errno));
  }
  ::close(file_);  // after unlink: whoever waits for the lock sees that the file is gone
  file_ = -1;
}

void FolderClaim::release() {
  remove();
}

FolderClaim::~FolderClaim() {
  if (file_ < 0) {
    return;
  }
  if (state_ == State::publishing) {
    ::close(file_);
  } else {
    remove();
  }
}

}  // namespace shardgpt
