#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace shardgpt {

/// Width of the token ids in a shard. u16 is llm.c's GPT-2 layout (magic 20240520, version 1), u32 its LLaMA
/// layout (magic 20240801, version 7), used only for vocabularies of more than 65,536 entries.
enum class TokenType { u16, u32 };

/// Whether the reader has a vocabulary that needs 32-bit ids. Where it has not, such a shard is refused.
enum class WideIds { refuse, accept };

inline constexpr std::int64_t shard_header_bytes = 1024;      ///< 256 little-endian int32
inline constexpr std::int64_t max_shard_tokens = 0x7fffffff;  ///< the count in the header is an int32
inline constexpr std::int64_t max_u16_vocab_size = 65'536;

[[nodiscard]] constexpr std::int64_t token_bytes(TokenType type) {
  return type == TokenType::u16 ? 2 : 4;
}
[[nodiscard]] constexpr const char* token_type_name(TokenType type) {
  return type == TokenType::u16 ? "uint16" : "uint32";
}
/// The narrowest type that holds the ids 0 … vocab_size − 1.
[[nodiscard]] constexpr TokenType token_type_for(std::int64_t vocab_size) {
  return vocab_size <= max_u16_vocab_size ? TokenType::u16 : TokenType::u32;
}
[[nodiscard]] constexpr std::int64_t shard_file_bytes(TokenType type, std::int64_t tokens) {
  return shard_header_bytes + tokens * token_bytes(type);
}

struct ShardHeader {
  TokenType type = TokenType::u16;
  std::int64_t tokens = 0;
};

/// Reads the header of a shard whose whole content is `file`. Throws InputError, saying what was found, what
/// was wanted and how to make the shard again, unless magic, version, count and the exact file size agree.
[[nodiscard]] ShardHeader parse_shard_header(std::span<const std::byte> file,
                                             const std::filesystem::path& path, WideIds wide_ids);

/// The header's 1024 bytes.
[[nodiscard]] std::string make_shard_header(const ShardHeader& header);

}  // namespace shardgpt
