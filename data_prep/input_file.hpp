#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace shardgpt {

enum class InputFormat { automatic, text, jsonl };

/// One input of the command line, "-" for standard input, read in blocks. The bytes come as they are.
class InputFile {
 public:
  /// Opens the file. Throws InputError where it cannot be opened, is no file, or, unless the format is given,
  /// is of a kind that has to be unpacked first.
  InputFile(std::string name, InputFormat format);

  /// The format as told, or by the name: .jsonl and .ndjson are JSONL, everything else text.
  [[nodiscard]] static InputFormat format_for(const std::string& name, InputFormat format);
  [[nodiscard]] InputFormat format() const { return format_; }
  /// Appends up to `bytes` bytes to `out`; false at the end. Throws Error where reading fails.
  bool read(std::string& out, std::size_t bytes);
  /// Bytes read so far.
  [[nodiscard]] std::int64_t bytes_read() const { return bytes_read_; }

 private:
  struct Closer {
    void operator()(std::FILE* file) const;
  };
  void refuse_packed_formats();

  std::string name_;
  InputFormat format_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::string start_;  ///< read for recognising the format, not yet given out
  std::int64_t bytes_read_ = 0;
};

}  // namespace shardgpt
