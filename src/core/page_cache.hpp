#pragma once

#include <cstdint>
#include <filesystem>

namespace shardgpt {

/// Tells the kernel what will be done with a file, so that the disk works while the program does something
/// else. Advice only: where the file cannot be opened or the file system does not take it nothing happens.
class PageCacheAdvice {
 public:
  explicit PageCacheAdvice(const std::filesystem::path& path);
  PageCacheAdvice(PageCacheAdvice&& other) noexcept;
  PageCacheAdvice& operator=(PageCacheAdvice&&) = delete;
  ~PageCacheAdvice();

  /// Starts writing these bytes, which are in the page cache, to the disk; an fsync finds less to do.
  void write_soon(std::int64_t offset, std::int64_t bytes) const noexcept;
  /// Starts reading these bytes into the page cache.
  void read_soon(std::int64_t offset, std::int64_t bytes) const noexcept;

 private:
  int descriptor_;
};

}  // namespace shardgpt
