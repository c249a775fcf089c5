#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string>

namespace shardgpt {

/// One mapped file in the list that a signal handler searches. Entries live as long as the process, so that
/// the handler needs no lock.
class MappedRange {
 public:
  /// Enters `bytes` of the file at `path`. Any thread.
  [[nodiscard]] static MappedRange* add(std::span<const std::byte> bytes, std::string path);
  /// Before the range is unmapped.
  void forget() { begin_.store(nullptr); }

  /// The range that holds `address`; null: none. Safe in a signal handler.
  [[nodiscard]] static const MappedRange* find(const void* address);
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Bytes from the file's start to `address`.
  [[nodiscard]] std::size_t offset_of(const void* address) const;

 private:
  MappedRange(std::span<const std::byte> bytes, std::string path);

  std::atomic<const std::byte*> begin_;
  std::size_t size_;
  std::string path_;
  MappedRange* next_ = nullptr;
};

/// From now on a page of a mapped file that can no longer be read (the file was cut short, its disk fails)
/// ends the process with exit code 1 and one line, "PREFIX: error: FILE: ...". Other bus errors go to whoever
/// handled them before. Call from main, after MPI_Init: MPI libraries install handlers of their own there.
void explain_lost_pages(std::string prefix);

}  // namespace shardgpt
