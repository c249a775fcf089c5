#include <array>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <zstd.h>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "data_prep/byte_source.hpp"

namespace shardgpt {
namespace {

class ZstdSource final : public ByteSource {
 public:
  explicit ZstdSource(FileSource& packed) : packed_(packed), stream_(ZSTD_createDCtx()) {
    if (stream_ == nullptr) {
      throw Error("zstd cannot start: out of memory");
    }
  }

  std::size_t read(char* out, std::size_t bytes) override {
    ZSTD_outBuffer output{out, bytes, 0};
    while (output.pos == 0) {
      const bool more = refill();
      if (!more && !in_frame_) {
        return 0;
      }
      const std::size_t code = ZSTD_decompressStream(stream_.get(), &output, &input_);
      SHARDGPT_REQUIRE(
          ZSTD_isError(code) == 0U,
          fmt::format("{} is damaged near byte {}, or needs more than 128 MiB to unpack: {}; copy or make it "
                      "again",
                      packed_.name(), packed_.bytes_read() - narrow<std::int64_t>(input_.size - input_.pos),
                      ZSTD_getErrorName(code)));
      // With no input left, the output that zstd still holds comes first; then nothing does.
      SHARDGPT_REQUIRE(
          more || output.pos != 0 || code == 0,
          fmt::format("{} is cut short: the zstd stream ends in the middle, after {} bytes; copy or "
                      "make it again",
                      packed_.name(), packed_.bytes_read()));
      in_frame_ = code != 0;
    }
    return output.pos;
  }

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };

  bool refill() {
    if (input_.pos == input_.size) {
      input_ = {bytes_.data(), packed_.read(bytes_.data(), bytes_.size()), 0};
    }
    return input_.pos != input_.size;
  }

  FileSource& packed_;
  std::unique_ptr<ZSTD_DCtx, Free> stream_;
  std::array<char, std::size_t{1} << 17U> bytes_{};
  ZSTD_inBuffer input_{};
  bool in_frame_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> make_zstd_source(FileSource& packed) {
  return std::make_unique<ZstdSource>(packed);
}

}  // namespace shardgpt
