#include "data_prep/byte_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/checked.hpp"
#include "core/error.hpp"

namespace shardgpt {

void FileSource::Closer::operator()(std::FILE* file) const {
  if (file != stdin) {
    std::fclose(file);  // read only: nothing can be lost
  }
}

FileSource::FileSource(std::string name) : name_(std::move(name)) {
  if (name_ == "-") {
    file_.reset(stdin);
    return;
  }
  std::error_code ignored;
  SHARDGPT_REQUIRE(!std::filesystem::is_directory(name_, ignored), name_ + " is a folder, wanted a file");
  file_.reset(std::fopen(name_.c_str(), "rb"));
  SHARDGPT_REQUIRE(file_ != nullptr, "cannot open " + name_ + ": " + std::strerror(errno));
}

std::size_t FileSource::read_file(char* out, std::size_t bytes) {
  const std::size_t got = std::fread(out, 1, bytes, file_.get());
  if (std::ferror(file_.get()) != 0) {
    throw Error("cannot read " + name_ + ": " + std::strerror(errno));
  }
  return got;
}

std::size_t FileSource::read(char* out, std::size_t bytes) {
  std::size_t got = std::min(bytes, peeked_.size());
  std::copy_n(peeked_.data(), got, out);
  peeked_.erase(0, got);
  if (got < bytes) {
    got += read_file(out + got, bytes - got);
  }
  bytes_read_ += narrow<std::int64_t>(got);
  return got;
}

std::string_view FileSource::peek(std::size_t bytes) {
  const std::size_t before = peeked_.size();
  if (before < bytes) {
    peeked_.resize(bytes);
    peeked_.resize(before + read_file(peeked_.data() + before, bytes - before));
  }
  return std::string_view(peeked_).substr(0, bytes);
}

Compression compression_of(std::string_view first_bytes) {
  if (first_bytes.starts_with("\x1f\x8b")) {
    return Compression::gzip;
  }
  // A zstd file may begin with a skippable frame (magic 0x184d2a50 to 5f), as pzstd writes them.
  const bool skippable = first_bytes.size() >= 4 && (first_bytes[0] & 0xf0) == 0x50 &&
                         first_bytes.substr(1, 3) == std::string_view("\x2a\x4d\x18");
  return skippable || first_bytes.starts_with("\x28\xb5\x2f\xfd") ? Compression::zstd : Compression::none;
}

}  // namespace shardgpt
