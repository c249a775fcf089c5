#include "core/page_cache.hpp"

#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace shardgpt {

PageCacheAdvice::PageCacheAdvice(const std::filesystem::path& path)
    : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

PageCacheAdvice::PageCacheAdvice(PageCacheAdvice&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

PageCacheAdvice::~PageCacheAdvice() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void PageCacheAdvice::write_soon(std::int64_t offset, std::int64_t bytes) const noexcept {
  if (descriptor_ >= 0 && offset >= 0 && bytes > 0) {
    (void)::sync_file_range(descriptor_, offset, bytes, SYNC_FILE_RANGE_WRITE);
  }
}

void PageCacheAdvice::read_soon(std::int64_t offset, std::int64_t bytes) const noexcept {
  if (descriptor_ >= 0 && offset >= 0 && bytes > 0) {
    (void)::posix_fadvise(descriptor_, offset, bytes, POSIX_FADV_WILLNEED);
  }
}

}  // namespace shardgpt
