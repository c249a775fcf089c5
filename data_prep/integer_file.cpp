#include "data_prep/integer_file.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/checked.hpp"
#include "core/error.hpp"

namespace shardgpt {
namespace {

template <class T>
void convert(const char* bytes, std::span<std::int32_t> out, std::int64_t limit,
             const std::filesystem::path& path, std::int64_t begin) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    T value{};
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    const auto id = static_cast<std::int64_t>(value);
    SHARDGPT_REQUIRE(
        id >= 0 && id < limit,
        fmt::format("{}: token {} (byte {}) is {}, outside the vocabulary of {} entries", path.string(),
                    begin + narrow<std::int64_t>(i),
                    (begin + narrow<std::int64_t>(i)) * narrow<std::int64_t>(sizeof(T)), id, limit));
    out[i] = static_cast<std::int32_t>(id);
  }
}

}  // namespace

std::int64_t IntegerFile::bytes_of(Type type) {
  switch (type) {
    case Type::u8:
    case Type::i8:
      return 1;
    case Type::i16:
    case Type::u16:
      return 2;
    case Type::i32:
      return 4;
    case Type::i64:
      break;
  }
  return 8;
}

IntegerFile::IntegerFile(std::filesystem::path path, Type type)
    : path_(std::move(path)), type_(type), file_(path_, std::ios::binary) {
  std::error_code failure;
  SHARDGPT_REQUIRE(file_.is_open(), "cannot open " + path_.string() + ": " + std::strerror(errno));
  const std::uintmax_t bytes = std::filesystem::file_size(path_, failure);
  SHARDGPT_REQUIRE(!failure, "cannot read the size of " + path_.string() + ": " + failure.message());
  const std::int64_t each = bytes_of(type);
  size_ = narrow<std::int64_t>(bytes) / each;
  SHARDGPT_REQUIRE(
      size_ * each == narrow<std::int64_t>(bytes),
      fmt::format("{} has {} bytes, which is no multiple of the {} bytes of a token: it is cut short or "
                  "of another kind",
                  path_.string(), bytes, each));
}

void IntegerFile::read(std::int64_t begin, std::span<std::int32_t> out, std::int64_t limit) {
  const auto each = narrow<std::size_t>(bytes_of(type_));
  bytes_.resize(out.size() * each);
  file_.seekg(checked_mul(begin, bytes_of(type_)));
  if (!file_.read(bytes_.data(), narrow<std::streamsize>(bytes_.size()))) {
    throw Error("cannot read " + path_.string() + ": it has become shorter, or the disk failed");
  }
  switch (type_) {
    case Type::u8:
      return convert<std::uint8_t>(bytes_.data(), out, limit, path_, begin);
    case Type::i8:
      return convert<std::int8_t>(bytes_.data(), out, limit, path_, begin);
    case Type::i16:
      return convert<std::int16_t>(bytes_.data(), out, limit, path_, begin);
    case Type::u16:
      return convert<std::uint16_t>(bytes_.data(), out, limit, path_, begin);
    case Type::i32:
      return convert<std::int32_t>(bytes_.data(), out, limit, path_, begin);
    case Type::i64:
      break;
  }
  convert<std::int64_t>(bytes_.data(), out, limit, path_, begin);
}

}  // namespace shardgpt
