#include "data_prep/byte_alphabet.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "data_prep/unicode.hpp"

namespace shardgpt {
namespace {

struct Alphabet {
  std::array<std::uint32_t, 256> code_point_of_byte{};
  std::array<int, 0x144> byte_of_code_point{};
  std::string order;

  Alphabet() {
    byte_of_code_point.fill(-1);
    std::uint32_t next = 0x100;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      code_point_of_byte[byte] = printable ? byte : next++;
      byte_of_code_point[code_point_of_byte[byte]] = static_cast<int>(byte);
    }
    for (const int byte : byte_of_code_point) {
      if (byte >= 0) {
        order.push_back(static_cast<char>(byte));
      }
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

}  // namespace

std::string to_byte_alphabet(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    append_utf8(text, alphabet().code_point_of_byte[static_cast<unsigned char>(byte)]);
  }
  return text;
}

std::optional<std::string> from_byte_alphabet(std::string_view text) {
  std::string bytes;
  for (std::size_t position = 0; position < text.size();) {
    const DecodedChar decoded = decode_utf8(text, position);
    const auto& known = alphabet().byte_of_code_point;
    if (decoded.bytes == 0 || decoded.code_point >= known.size() || known[decoded.code_point] < 0) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(known[decoded.code_point]));
    position += decoded.bytes;
  }
  return bytes;
}

const std::string& bytes_in_alphabet_order() {
  return alphabet().order;
}

}  // namespace shardgpt
