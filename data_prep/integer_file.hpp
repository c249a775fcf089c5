#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

namespace shardgpt {

/// A file of bare little-endian integers, read in order. Memory does not grow with the file.
class IntegerFile {
 public:
  enum class Type { u8, i8, i16, u16, i32, i64 };
  [[nodiscard]] static std::int64_t bytes_of(Type type);

  /// Throws InputError where it cannot be opened or its size is no multiple of the type's.
  IntegerFile(std::filesystem::path path, Type type);

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Reads the integers [begin, begin + out.size()), which lie within the file, as token ids. Throws
  /// InputError naming the place where one is negative or not below `limit`.
  void read(std::int64_t begin, std::span<std::int32_t> out, std::int64_t limit);

 private:
  std::filesystem::path path_;
  Type type_;
  std::ifstream file_;
  std::int64_t size_ = 0;  ///< integers
  std::vector<char> bytes_;
};

}  // namespace shardgpt
