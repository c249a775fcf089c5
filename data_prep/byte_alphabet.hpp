#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shardgpt {

/// GPT-2's way to write any bytes as printable text: each byte is one character, itself where it is printable
/// Latin-1 (0x21–0x7e, 0xa1–0xac, 0xae–0xff), else U+0100 and up in order. Used by vocab.json and merges.txt.
[[nodiscard]] std::string to_byte_alphabet(std::string_view bytes);

/// The bytes that `text` stands for; nothing where a character is not of the alphabet.
[[nodiscard]] std::optional<std::string> from_byte_alphabet(std::string_view text);

/// The bytes in the order of their characters: the order in which GPT-2 numbers them.
[[nodiscard]] const std::string& bytes_in_alphabet_order();

}  // namespace shardgpt
