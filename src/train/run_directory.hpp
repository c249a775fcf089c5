#pragma once

#include <filesystem>
#include <string>

#include "dist/mpi/mpi_session.hpp"

namespace shardgpt {

/// The folder of one run: holds its lock while it lives, so that a second live job is refused. The folder
/// must be visible to all ranks; rank 0 writes.
class RunDirectory {
 public:
  /// Collective. Creates the folder, takes the lock, and makes sure that every rank sees the same folder.
  /// Throws InputError on all ranks.
  RunDirectory(const MpiComm& comm, std::filesystem::path path);
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;
  ~RunDirectory();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path metrics_file() const { return path_ / "metrics.jsonl"; }
  /// A file that a user makes to stop the run.
  [[nodiscard]] std::filesystem::path stop_file() const { return path_ / "stop"; }

  /// RUN/status: "running", "preempted", "finished" or "failed(reason)". Rank 0 only.
  void write_status(const std::string& status) const;
  /// RUN/run.json: how this start of the run was configured. Rank 0 only.
  void write_manifest(const std::string& json) const;
  /// Deletes checkpoints, metrics and status of an earlier run. Rank 0 only.
  void discard() const;
  /// Whether an earlier run left anything here. Local.
  [[nodiscard]] bool holds_run() const;

 private:
  void take_lock();
  void check_shared(const MpiComm& comm) const;

  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace shardgpt
