#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace shardgpt {

/// A stream of bytes, read once from its begin to its end.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// Puts up to `bytes` (≥ 1) bytes at `out` and returns how many; 0 at the end only. Throws Error where
  /// reading fails, InputError naming the file where its content is damaged.
  virtual std::size_t read(char* out, std::size_t bytes) = 0;
};

/// A file or pipe as it is; "-" is standard input.
class FileSource final : public ByteSource {
 public:
  /// Throws InputError where it cannot be opened or is a folder.
  explicit FileSource(std::string name);

  std::size_t read(char* out, std::size_t bytes) override;
  /// The first bytes, up to `bytes` of them, which `read` gives again. Before the first `read` only.
  [[nodiscard]] std::string_view peek(std::size_t bytes);
  /// Bytes given out by `read` so far.
  [[nodiscard]] std::int64_t bytes_read() const { return bytes_read_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  struct Closer {
    void operator()(std::FILE* file) const;
  };
  [[nodiscard]] std::size_t read_file(char* out, std::size_t bytes);

  std::string name_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::string peeked_;  ///< not yet given out
  std::int64_t bytes_read_ = 0;
};

/// What a file is packed with, as its first bytes tell.
enum class Compression { none, gzip, zstd };

[[nodiscard]] Compression compression_of(std::string_view first_bytes);

/// The unpacked content of `packed`, which must outlive the source. A stream that is damaged, ends early or
/// has something else behind its end is refused when that place is reached; several members or frames one
/// behind the other are one content.
[[nodiscard]] std::unique_ptr<ByteSource> make_gzip_source(FileSource& packed);
[[nodiscard]] std::unique_ptr<ByteSource> make_zstd_source(FileSource& packed);

}  // namespace shardgpt
