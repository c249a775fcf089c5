#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data_prep/byte_source.hpp"

namespace shardgpt {

enum class InputFormat { automatic, text, jsonl, parquet };

[[nodiscard]] const char* input_format_name(InputFormat format);

/// One input of the command line, "-" for standard input, read in blocks. What is packed with gzip or zstd is
/// unpacked; else the bytes come as they are.
class InputFile {
 public:
  /// Opens the file. Throws InputError where it cannot be opened, is no file, or, unless the format is given,
  /// is of a kind that has to be unpacked first.
  InputFile(std::string name, InputFormat format);

  /// The format as told, or by the name without .gz or .zst: .jsonl and .ndjson are JSONL, .parquet is
  /// Parquet, everything else text.
  [[nodiscard]] static InputFormat format_for(const std::string& name, InputFormat format);
  [[nodiscard]] InputFormat format() const { return format_; }
  /// Appends up to `bytes` bytes to `out`; false at the end. Throws Error where reading fails, InputError
  /// where the file is damaged.
  bool read(std::string& out, std::size_t bytes);
  /// Bytes read so far, unpacked.
  [[nodiscard]] std::int64_t bytes_read() const { return bytes_read_; }
  /// Bytes of the file itself read so far.
  [[nodiscard]] std::int64_t file_bytes_read() const { return file_->bytes_read(); }

 private:
  void recognise_parquet(InputFormat told);

  std::string name_;
  InputFormat format_;
  std::unique_ptr<FileSource> file_;
  std::unique_ptr<ByteSource> unpacked_;  ///< on file_; null where it is not packed
  std::int64_t bytes_read_ = 0;
};

/// Whether `name` gives its bytes once only: standard input or a pipe.
[[nodiscard]] bool is_stream(const std::string& name);

/// Folders replaced by the files in and below them, in bytewise order of their paths, hidden ones left out.
/// Throws InputError for a folder without any.
[[nodiscard]] std::vector<std::string> expand_folders(const std::vector<std::string>& names);

}  // namespace shardgpt
