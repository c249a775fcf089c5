#include "tokens/shard_format.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "core/checked.hpp"
#include "core/error.hpp"

namespace shardgpt {
namespace {

static_assert(std::endian::native == std::endian::little, "shards are little-endian and read in place");

constexpr std::int32_t u16_magic = 20240520;
constexpr std::int32_t u16_version = 1;
constexpr std::int32_t u32_magic = 20240801;
constexpr std::int32_t u32_version = 7;

constexpr std::string_view how_to_make =
    "make shards with 'shardgpt-prep encode' or with llm.c's dev/data scripts for GPT-2";

std::int32_t word(std::span<const std::byte> file, std::size_t index) {
  std::int32_t value = 0;
  std::memcpy(&value, file.data() + index * sizeof value, sizeof value);
  return value;
}

std::string hex_start(std::span<const std::byte> file) {
  std::string text;
  for (const std::byte value : file.first(std::min<std::size_t>(file.size(), 8))) {
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", static_cast<unsigned>(value));
  }
  return text.empty() ? "nothing" : text;
}

bool starts_with(std::span<const std::byte> file, std::string_view prefix) {
  return file.size() >= prefix.size() && std::memcmp(file.data(), prefix.data(), prefix.size()) == 0;
}

/// What a file is that is no shard, as far as its first bytes tell.
std::string guess_format(std::span<const std::byte> file) {
  struct Signature {
    std::string_view prefix;
    const char* name;
  };
  static constexpr Signature signatures[] = {
      {"\x93NUMPY", "a NumPy .npy file"},
      {"\x1f\x8b", "a gzip file; decompress it"},
      {"\x28\xb5\x2f\xfd", "a zstd file; decompress it"},
      {"PK\x03\x04", "a zip, .npz or PyTorch file"},
      {"MMIDIDX", "a Megatron-LM index"},
      {"\x89HDF", "an HDF5 file"},
      {"PAR1", "a Parquet file"},
  };
  for (const Signature& signature : signatures) {
    if (starts_with(file, signature.prefix)) {
      return signature.name;
    }
  }
  if (file.size() >= 4) {
    const std::int32_t magic = word(file, 0);
    const auto swapped = static_cast<std::int32_t>(__builtin_bswap32(static_cast<std::uint32_t>(magic)));
    if (swapped == u16_magic || swapped == u32_magic) {
      return "a byte-swapped (big-endian) shard";
    }
    if (magic == 20240522) {
      return "an llm.c evaluation file";
    }
    if (magic == 20240326 || magic == 20240527) {
      return "an llm.c model or optimizer checkpoint";
    }
  }
  const auto first = file.first(std::min<std::size_t>(file.size(), 64));
  const bool printable = !first.empty() && std::all_of(first.begin(), first.end(), [](std::byte value) {
    const auto c = static_cast<unsigned char>(value);
    return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' || c == '\t';
  });
  if (printable) {
    return "text; encode it first";
  }
  return "unknown; perhaps ids without a header, as nanoGPT writes them";
}

[[noreturn]] void refuse_format(std::span<const std::byte> file, const std::filesystem::path& path,
                                std::string_view guess) {
  throw InputError(
      fmt::format("{} is not a GPT-2 token shard: its first bytes are {} ({}); wanted an llm.c shard, magic "
                  "{} version {} "
                  "(bytes 88 d8 34 01 01 00 00 00); {}",
                  path.string(), hex_start(file), guess, u16_magic, u16_version, how_to_make));
}

TokenType parse_type(std::span<const std::byte> file, const std::filesystem::path& path, WideIds wide_ids) {
  const std::int32_t magic = word(file, 0);
  const std::int32_t version = word(file, 1);
  if (magic == u16_magic && version == u16_version) {
    return TokenType::u16;
  }
  if (magic == u16_magic) {
    refuse_format(file, path,
                  fmt::format("an llm.c GPT-2 shard of version {}, which is not known here", version));
  }
  if (magic == u32_magic && version == u32_version) {
    if (wide_ids == WideIds::refuse) {
      refuse_format(
          file, path,
          "an llm.c LLaMA shard with uint32 ids, magic 20240801 version 7, which is read only where "
          "the vocabulary has more than 65536 entries");
    }
    return TokenType::u32;
  }
  if (magic == u32_magic) {
    refuse_format(file, path,
                  fmt::format("an llm.c LLaMA shard of version {}, wanted {}", version, u32_version));
  }
  refuse_format(file, path, guess_format(file));
}

}  // namespace

ShardHeader parse_shard_header(std::span<const std::byte> file, const std::filesystem::path& path,
                               WideIds wide_ids) {
  if (file.size() < 8) {
    refuse_format(file, path, fmt::format("a file of {} bytes", file.size()));
  }
  ShardHeader header;
  header.type = parse_type(file, path, wide_ids);
  const auto file_bytes = narrow<std::int64_t>(file.size());
  SHARDGPT_REQUIRE(
      file_bytes >= shard_header_bytes,
      fmt::format("{} is cut short: {} bytes, less than the header of {} bytes; copy or make it again",
                  path.string(), file_bytes, shard_header_bytes));
  header.tokens = word(file, 2);
  SHARDGPT_REQUIRE(header.tokens >= 0, fmt::format("{}: token count {} at byte 8 is negative; {}",
                                                   path.string(), header.tokens, how_to_make));
  const std::int64_t wanted = shard_file_bytes(header.type, header.tokens);
  SHARDGPT_REQUIRE(
      file_bytes == wanted,
      fmt::format(
          "{} has {} bytes, but its header (token count {} at byte 8) wants exactly {}: the file is {}; "
          "copy or make it again",
          path.string(), file_bytes, header.tokens, wanted, file_bytes < wanted ? "cut short" : "too long"));
  return header;
}

std::string make_shard_header(const ShardHeader& header) {
  const bool wide = header.type == TokenType::u32;
  const std::int32_t words[3] = {wide ? u32_magic : u16_magic, wide ? u32_version : u16_version,
                                 narrow<std::int32_t>(header.tokens)};
  std::string bytes(static_cast<std::size_t>(shard_header_bytes), '\0');
  std::memcpy(bytes.data(), words, sizeof words);
  return bytes;
}

}  // namespace shardgpt
