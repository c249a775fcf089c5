#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "tokens/mapped_file.hpp"
#include "tokens/shard_format.hpp"

namespace shardgpt {

/// One shard, checked and mapped read-only. Threads may read it at once. Reads throw InputError where the
/// file was cut short since.
class ShardFile {
 public:
  /// Throws InputError where the file cannot be read or is no shard (see parse_shard_header).
  ShardFile(const std::filesystem::path& path, WideIds wide_ids);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] TokenType type() const { return header_.type; }
  [[nodiscard]] std::int64_t tokens() const { return header_.tokens; }
  [[nodiscard]] const MappedFile& file() const { return file_; }

  /// Copies out.size() ids from token `offset` on; returns the largest of them, 0 for none. The caller keeps
  /// within the shard. Ids of 2³¹ and more come out negative, so a caller without a limit of its own checks.
  std::uint32_t read(std::int64_t offset, std::span<std::int32_t> out) const;
  /// The largest of `count` ids from `offset` on; −1 for none.
  [[nodiscard]] std::int64_t largest_id(std::int64_t offset, std::int64_t count) const;
  /// The place, from the shard's start, of the first of `count` ids from `offset` on that is ≥ `limit`; −1:
  /// none.
  [[nodiscard]] std::int64_t find_id_from(std::int64_t limit, std::int64_t offset, std::int64_t count) const;

 private:
  template <class Visit>
  auto with_ids(std::int64_t offset, std::size_t count, Visit&& visit) const;

  std::filesystem::path path_;
  MappedFile file_;
  ShardHeader header_;
};

}  // namespace shardgpt
