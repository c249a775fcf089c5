#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace shardgpt {

/// Gets the rows' texts in order, nothing for a null, and how many rows there are.
using ConsumeRow = std::function<void(std::optional<std::string_view> text, std::int64_t rows)>;

/// Whether this build reads Parquet files at all, and otherwise says why not and what to do about it.
struct ParquetSupport {
  bool built_in = false;
  std::string message;
};
[[nodiscard]] ParquetSupport parquet_support();

/// Throws InputError, with the file's schema, where `file` has no column `column` of text, is damaged, or
/// this build reads no Parquet.
void check_parquet(const std::string& file, const std::string& column);

/// Reads the column, in batches of bounded size. The same exceptions.
void read_parquet_text(const std::string& file, const std::string& column, const ConsumeRow& consume);

}  // namespace shardgpt
