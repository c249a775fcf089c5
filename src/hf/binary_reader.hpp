#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "hf/file_descriptor.hpp"

namespace shardgpt {

/// A regular file that is read at any place by copying, so nothing needs alignment and nothing is mapped.
class BinaryReader {
 public:
  /// Throws InputError where `path` cannot be opened or is not a regular file.
  explicit BinaryReader(std::filesystem::path path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Size when it was opened.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  /// Fills `bytes` from byte `offset` of the file on. Throws InputError where the file ends before, Error
  /// where the system refuses.
  void read(std::int64_t offset, std::span<std::byte> bytes) const;

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::int64_t bytes_ = 0;
};

}  // namespace shardgpt
