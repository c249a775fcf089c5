#include "tokens/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "tokens/lost_pages.hpp"

namespace shardgpt {
namespace {

[[noreturn]] void throw_errno(const char* action, const std::filesystem::path& path, int code) {
  throw InputError(std::string("cannot ") + action + " " + path.string() + ": " + std::strerror(code));
}

/// Keeps the descriptor open just long enough to map the file: the mapping outlives it.
class ReadDescriptor {
 public:
  explicit ReadDescriptor(const std::filesystem::path& path)
      : raw_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (raw_ < 0) {
      throw_errno("open", path, errno);
    }
  }
  ReadDescriptor(const ReadDescriptor&) = delete;
  ReadDescriptor& operator=(const ReadDescriptor&) = delete;
  ~ReadDescriptor() { ::close(raw_); }
  [[nodiscard]] int get() const { return raw_; }

 private:
  int raw_;
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const ReadDescriptor file(path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    throw_errno("read the size of", path, errno);
  }
  SHARDGPT_REQUIRE(S_ISREG(status.st_mode), path.string() + " is not a regular file");
  size_ = narrow<std::size_t>(status.st_size);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  if (size_ == 0) {
    return;
  }
  void* const mapping = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapping == MAP_FAILED) {
    throw_errno("map", path, errno);
  }
  data_ = static_cast<const std::byte*>(mapping);
  range_ = MappedRange::add(bytes(), path.string());
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      device_(other.device_),
      inode_(other.inode_),
      range_(std::exchange(other.range_, nullptr)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  MappedFile taken(std::move(other));
  std::swap(data_, taken.data_);
  std::swap(size_, taken.size_);
  std::swap(device_, taken.device_);
  std::swap(inode_, taken.inode_);
  std::swap(range_, taken.range_);
  return *this;
}

MappedFile::~MappedFile() {
  if (range_ != nullptr) {
    range_->forget();
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  if (data_ != nullptr && ::munmap(const_cast<std::byte*>(data_), size_) != 0) {
    log_error(std::string("munmap: ") + std::strerror(errno));
  }
}

void MappedFile::advise(AccessPattern pattern) const {
  if (data_ == nullptr) {
    return;
  }
  const int advice = pattern == AccessPattern::sequential ? MADV_SEQUENTIAL
                     : pattern == AccessPattern::random   ? MADV_RANDOM
                                                          : MADV_WILLNEED;
  // Only a hint: some file systems know no read-ahead, and reading works without it.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  static_cast<void>(::madvise(const_cast<std::byte*>(data_), size_, advice));
}

void MappedFile::require_whole(const std::filesystem::path& path) const {
  struct stat status {};
  const bool is_the_same =
      ::stat(path.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
  SHARDGPT_REQUIRE(!is_the_same || static_cast<std::size_t>(status.st_size) >= size_,
                   path.string() + " has " + std::to_string(status.st_size) + " bytes now and had " +
                       std::to_string(size_) +
                       " when it was opened: it was cut short while in use; write data sets to a new "
                       "folder, or under a temporary name that is renamed at the end");
}

}  // namespace shardgpt
