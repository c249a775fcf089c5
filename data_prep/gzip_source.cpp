#include <array>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <zlib.h>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "data_prep/byte_source.hpp"

namespace shardgpt {
namespace {

class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(FileSource& packed) : packed_(packed) {
    constexpr int window_bits_of_gzip = 15 + 16;
    if (inflateInit2(&stream_, window_bits_of_gzip) != Z_OK) {
      throw Error("zlib cannot start: out of memory");
    }
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  std::size_t read(char* out, std::size_t bytes) override {
    const auto space = static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = space;
    while (stream_.avail_out == space && begin_or_continue_member()) {
      inflate_some();
    }
    return space - stream_.avail_out;
  }

 private:
  /// Sees to it that there is input within a member; false at the end of the file.
  bool begin_or_continue_member() {
    if (in_member_) {
      SHARDGPT_REQUIRE(refill(), packed_.name() +
                                     " is cut short: the gzip stream ends in the middle, after " +
                                     std::to_string(packed_.bytes_read()) + " bytes; copy or make it again");
      return true;
    }
    while (refill()) {
      // gzip allows zeros behind a member: padding to the block size of a tape.
      if (*stream_.next_in != 0 || first_member_) {
        first_member_ = false;
        in_member_ = true;
        return true;
      }
      ++stream_.next_in;
      --stream_.avail_in;
    }
    return false;
  }

  bool refill() {
    if (stream_.avail_in == 0) {
      const std::size_t got = packed_.read(input_.data(), input_.size());
      stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
      stream_.avail_in = static_cast<uInt>(got);
    }
    return stream_.avail_in != 0;
  }

  void inflate_some() {
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      in_member_ = false;
      inflateReset(&stream_);
      return;
    }
    if (code == Z_MEM_ERROR) {
      throw Error("zlib: out of memory");
    }
    SHARDGPT_REQUIRE(code == Z_OK || code == Z_BUF_ERROR,
                     fmt::format("{} is damaged near byte {}: {}; copy or make it again", packed_.name(),
                                 packed_.bytes_read() - narrow<std::int64_t>(stream_.avail_in),
                                 stream_.msg != nullptr ? stream_.msg : "what follows is no gzip stream"));
  }

  FileSource& packed_;
  z_stream stream_{};
  std::array<char, std::size_t{1} << 16U> input_{};
  bool first_member_ = true;
  bool in_member_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> make_gzip_source(FileSource& packed) {
  return std::make_unique<GzipSource>(packed);
}

}  // namespace shardgpt
