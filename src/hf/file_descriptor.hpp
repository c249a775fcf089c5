#pragma once

#include <utility>

#include <unistd.h>

namespace shardgpt {

/// Move-only owner of a POSIX file descriptor.
class FileDescriptor {
 public:
  explicit FileDescriptor(int raw = -1) noexcept : raw_(raw) {}
  FileDescriptor(FileDescriptor&& other) noexcept : raw_(std::exchange(other.raw_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~FileDescriptor() {
    if (raw_ >= 0) {
      ::close(raw_);
    }
  }
  [[nodiscard]] int get() const noexcept { return raw_; }
  /// Closes now, so that a late write error is seen; returns what close(2) returns.
  [[nodiscard]] int close() noexcept { return ::close(std::exchange(raw_, -1)); }

 private:
  int raw_;
};

}  // namespace shardgpt
