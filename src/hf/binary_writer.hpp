#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "hf/file_descriptor.hpp"

namespace shardgpt {

/// A new file that is written from front to back.
class BinaryWriter {
 public:
  /// Creates `path`, which must not exist. Throws Error naming the path and the cause.
  explicit BinaryWriter(std::filesystem::path path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Appends all of `bytes`. Throws Error.
  void write(std::span<const std::byte> bytes);
  /// Synchronises and closes, so that a late error is seen. Throws Error.
  void finish();

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
};

}  // namespace shardgpt
