#pragma once

#include <cstdint>
#include <filesystem>

namespace shardgpt {

/// Whether an output that exists may be replaced.
enum class Overwrite { refuse, allow };

/// A folder or file that appears under its name only when it is complete. Written beside it under a temporary
/// name, which the destructor removes unless publish() was called; what a process that was killed left there
/// is removed by the next one for the same output on the same machine.
class PendingOutput {
 public:
  enum class Kind { file, folder };

  /// Throws InputError where `target` exists and may not be replaced; an empty folder may.
  PendingOutput(std::filesystem::path target, Kind kind, Overwrite overwrite);
  PendingOutput(const PendingOutput&) = delete;
  PendingOutput& operator=(const PendingOutput&) = delete;
  ~PendingOutput();

  /// Throws Error where the file system has less than `bytes` free: said before the work, not at its end.
  void require_space(std::int64_t bytes) const;
  /// Where to write.
  [[nodiscard]] const std::filesystem::path& path() const { return temporary_; }
  /// Makes the content durable and gives it its name.
  void publish();

 private:
  [[nodiscard]] std::filesystem::path folder() const;
  void replace_folder() const;

  std::filesystem::path target_;
  std::filesystem::path temporary_;
  Kind kind_;
  bool published_ = false;
};

}  // namespace shardgpt
