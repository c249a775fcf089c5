#include "train/run_directory.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/atomic_file.hpp"
#include "core/error.hpp"

namespace shardgpt {

RunDirectory::RunDirectory(const MpiComm& comm, std::filesystem::path path) : path_(std::move(path)) {
  run_phase(comm, [&] {
    if (comm.rank() == 0) {
      std::error_code code;
      std::filesystem::create_directories(path_, code);
      SHARDGPT_REQUIRE(!code, "cannot create the run folder " + path_.string() + ": " + code.message());
      take_lock();
    }
  });
  check_shared(comm);
}

RunDirectory::~RunDirectory() {
  if (lock_ >= 0) {
    ::close(lock_);  // releases the lock
  }
}

void RunDirectory::take_lock() {
  const std::filesystem::path file = path_ / "lock";
  lock_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  SHARDGPT_REQUIRE(lock_ >= 0, "cannot create " + file.string() + ": " + std::strerror(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const int code = errno;
    ::close(std::exchange(lock_, -1));
    SHARDGPT_REQUIRE(code != EWOULDBLOCK,
                     "another job is running in " + path_.string() +
                         ": it holds the file 'lock' there. Wait for it, stop it, or use "
                         "another --run-dir");
    throw_input_error("cannot lock " + file.string() + ": " + std::strerror(code));
  }
}

void RunDirectory::check_shared(const MpiComm& comm) const {
  // A token that only this job writes: other ranks must read the same back.
  const std::filesystem::path file = path_ / ".shared-check";
  std::string token;
  run_phase(comm, [&] {
    if (comm.rank() == 0) {
      token = std::to_string(::getpid()) + " " +
              std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
      write_file_atomically(file, token);
    }
  });
  token = comm.broadcast(token, 0);
  run_phase(comm, [&] {
    std::string seen;
    if (std::filesystem::exists(file)) {
      seen = read_text_file(file);
    }
    SHARDGPT_REQUIRE(seen == token, "rank " + std::to_string(comm.rank()) +
                                        " does not see the same run folder " + path_.string() +
                                        " as rank 0: it must lie on a file system that all nodes share");
  });
  if (comm.rank() == 0) {
    std::filesystem::remove(file);
  }
}

void RunDirectory::write_status(const std::string& status) const {
  write_file_atomically(path_ / "status", status + "\n");
}

void RunDirectory::write_manifest(const std::string& json) const {
  write_file_atomically(path_ / "run.json", json);
}

bool RunDirectory::holds_run() const {
  const std::filesystem::path checkpoints = path_ / "checkpoints";
  return std::filesystem::exists(metrics_file()) ||
         (std::filesystem::exists(checkpoints) && !std::filesystem::is_empty(checkpoints));
}

void RunDirectory::discard() const {
  std::filesystem::remove_all(path_ / "checkpoints");
  std::filesystem::remove(metrics_file());
  std::filesystem::remove(path_ / "status");
}

}  // namespace shardgpt
