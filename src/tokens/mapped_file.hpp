#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace shardgpt {

/// How a mapped file is going to be read; a hint to the kernel's read-ahead.
enum class AccessPattern { sequential, random, all_soon };

/// Owner of a read-only memory mapping of one whole file.
class MappedFile {
 public:
  /// Throws InputError naming the path and the cause. A file of 0 bytes gives an empty span.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  void advise(AccessPattern pattern) const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace shardgpt
