#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include <sys/types.h>

namespace shardgpt {

class MappedRange;

/// How a mapped file is going to be read; a hint to the kernel's read-ahead.
enum class AccessPattern { sequential, random, all_soon };

/// Owner of a read-only memory mapping of one whole file. A file that is cut short while it is mapped reads
/// as zeros up to the end of a page; behind that a read ends the process (SIGBUS, see lost_pages.hpp).
class MappedFile {
 public:
  /// Throws InputError naming the path and the cause. A file of 0 bytes gives an empty span.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  void advise(AccessPattern pattern) const;
  /// Throws InputError where the mapped file is shorter by now. What was read before is good only if this is
  /// called after it. A file that was replaced or deleted meanwhile stays mapped as it was: no error. `path`
  /// is the one it was opened by.
  void require_whole(const std::filesystem::path& path) const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  MappedRange* range_ = nullptr;
};

}  // namespace shardgpt
