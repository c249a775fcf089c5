#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "tokens/dataset_manifest.hpp"
#include "tokens/shard_format.hpp"

namespace shardgpt {

/// Writes one shard under a temporary name beside `path`; `publish` gives it its final name. A writer
/// destroyed before that removes the temporary file.
class ShardWriter {
 public:
  ShardWriter(std::filesystem::path path, TokenType type);
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;
  ~ShardWriter();

  /// Throws InputError for an id that the type cannot hold, Error where writing fails.
  void append(std::span<const std::int32_t> ids);
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }

  /// Writes the header, makes the content durable and returns what dataset.json records of it.
  [[nodiscard]] ShardRecord finish();
  /// Renames the finished file to its final name, over whatever is there.
  void publish();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  TokenType type_;
  std::ofstream file_;
  std::vector<std::uint16_t> narrow_ids_;
  std::int64_t tokens_ = 0;
  std::int64_t largest_id_ = -1;
  bool published_ = false;
};

/// XXH3-64 of the whole file, 16 hex digits.
[[nodiscard]] std::string hash_file(const std::filesystem::path& path);

}  // namespace shardgpt
