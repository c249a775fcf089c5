#include "data_prep/megatron_index.hpp"

#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "tokens/mapped_file.hpp"

namespace shardgpt {
namespace {

static_assert(std::endian::native == std::endian::little, "the index is little-endian");

// Bytes: 0 magic, 9 uint64 version, 17 uint8 type of the tokens, 18 uint64 sequences, 26 uint64 entries of
// the list of documents, 34 int32 length of each sequence, then int64 offset of each sequence, then int64
// list of documents: the number of each one's first sequence, and at last the number of sequences.
constexpr std::string_view magic("MMIDIDX\0\0", 9);
constexpr std::uint64_t version = 1;
constexpr std::size_t header_bytes = 34;
constexpr std::uint8_t u16_code = 8;
constexpr std::uint8_t i32_code = 4;

std::optional<IntegerFile::Type> type_of_code(std::uint8_t code) {
  using Type = IntegerFile::Type;
  switch (code) {
    case 1:
      return Type::u8;
    case 2:
      return Type::i8;
    case 3:
      return Type::i16;
    case i32_code:
      return Type::i32;
    case 5:
      return Type::i64;
    case u16_code:
      return Type::u16;
    default:
      return std::nullopt;
  }
}

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <class T>
std::vector<T> list_at(std::span<const std::byte> bytes, std::size_t at, std::uint64_t count) {
  std::vector<T> list(count);
  if (count != 0) {
    std::memcpy(list.data(), bytes.data() + at, count * sizeof(T));
  }
  return list;
}

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void check_sequences(const MegatronIndex& index, std::int64_t bin_bytes, const std::string& name) {
  const std::int64_t each = IntegerFile::bytes_of(index.type);
  for (std::size_t i = 0; i < index.lengths.size(); ++i) {
    const std::int64_t length = index.lengths[i];
    const std::int64_t offset = index.offsets[i];
    SHARDGPT_REQUIRE(length >= 0, fmt::format("{}: sequence {} has length {}", name, i, length));
    SHARDGPT_REQUIRE(
        offset >= 0 && offset % each == 0 && offset <= bin_bytes && length * each <= bin_bytes - offset,
        fmt::format("{}: sequence {} is {} tokens from byte {} on, which is not within the {} bytes of "
                    "its .bin file",
                    name, i, length, offset, bin_bytes));
  }
}

void check_documents(const MegatronIndex& index, const std::string& name) {
  const auto& documents = index.documents;
  SHARDGPT_REQUIRE(!documents.empty() && documents.front() == 0 &&
                       documents.back() == narrow<std::int64_t>(index.lengths.size()),
                   fmt::format("{}: the list of documents must go from 0 to the number of sequences, {}",
                               name, index.lengths.size()));
  for (std::size_t i = 1; i < documents.size(); ++i) {
    SHARDGPT_REQUIRE(documents[i - 1] <= documents[i],
                     fmt::format("{}: document {} begins with sequence {}, the one before it with {}", name,
                                 i, documents[i], documents[i - 1]));
  }
}

}  // namespace

MegatronIndex read_megatron_index(const std::filesystem::path& path, std::int64_t bin_bytes) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  const std::string name = path.string();
  SHARDGPT_REQUIRE(bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0,
                   name + " is no Megatron-LM index: it does not begin with 'MMIDIDX' and two zero bytes");
  SHARDGPT_REQUIRE(
      bytes.size() >= header_bytes,
      fmt::format("{} is cut short: {} bytes, less than its header of {}", name, bytes.size(), header_bytes));
  SHARDGPT_REQUIRE(
      value_at<std::uint64_t>(bytes, 9) == version,
      fmt::format("{}: version {} at byte 9, wanted {}", name, value_at<std::uint64_t>(bytes, 9), version));
  const auto code = value_at<std::uint8_t>(bytes, 17);
  const auto type = type_of_code(code);
  SHARDGPT_REQUIRE(type.has_value(),
                   fmt::format("{}: type code {} at byte 17 is no integer type; wanted 1 (uint8), 2 "
                               "(int8), 3 (int16), 4 (int32), 5 (int64) or 8 (uint16)",
                               name, code));
  const auto sequences = value_at<std::uint64_t>(bytes, 18);
  const auto documents = value_at<std::uint64_t>(bytes, 26);
  // Compared without products, which could overflow.
  const std::uint64_t room = bytes.size() - header_bytes;
  const bool fits = sequences <= room / 12 && documents <= (room - sequences * 12) / 8;
  const std::uint64_t wanted = fits ? sequences * 12 + documents * 8 : 0;
  SHARDGPT_REQUIRE(!fits || sequences == 0 || room != wanted + sequences,
                   name + " has a mode for each sequence (multimodal data), which has no meaning here");
  SHARDGPT_REQUIRE(
      fits && room == wanted,
      fmt::format("{} has {} bytes, which is {} for {} sequences (byte 18) and {} entries of the list of "
                  "documents (byte 26)",
                  name, bytes.size(), fits ? "too long" : "too short", sequences, documents));
  MegatronIndex index;
  index.type = *type;
  index.lengths = list_at<std::int32_t>(bytes, header_bytes, sequences);
  index.offsets = list_at<std::int64_t>(bytes, header_bytes + sequences * 4, sequences);
  index.documents = list_at<std::int64_t>(bytes, header_bytes + sequences * 12, documents);
  check_sequences(index, bin_bytes, name);
  check_documents(index, name);
  return index;
}

std::string make_megatron_index(bool wide, std::span<const std::int32_t> lengths,
                                std::span<const std::int64_t> documents) {
  std::string bytes(magic);
  append(bytes, version);
  append(bytes, wide ? i32_code : u16_code);
  append(bytes, static_cast<std::uint64_t>(lengths.size()));
  append(bytes, static_cast<std::uint64_t>(documents.size()));
  for (const std::int32_t length : lengths) {
    append(bytes, length);
  }
  std::int64_t offset = 0;
  for (const std::int32_t length : lengths) {
    append(bytes, offset);
    offset = checked_add(offset, checked_mul<std::int64_t>(length, wide ? 4 : 2));
  }
  for (const std::int64_t document : documents) {
    append(bytes, document);
  }
  return bytes;
}

}  // namespace shardgpt
