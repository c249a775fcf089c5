#include "data_prep/jsonl.hpp"

#include <cstdint>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "data_prep/unicode.hpp"

namespace shardgpt {
namespace {

// The JSON library refuses what is no UTF-8, but such bytes are text here as in other formats. They travel
// through it as these private code points, one for each byte value.
constexpr std::uint32_t shield_base = 0x10ff00;

template <class Visit>
void for_each_char(std::string_view text, Visit&& visit) {
  for (std::size_t position = 0; position < text.size();) {
    const DecodedChar decoded = decode_utf8(text, position);
    const std::size_t bytes = decoded.bytes == 0 ? 1 : decoded.bytes;
    visit(decoded, text.substr(position, bytes));
    position += bytes;
  }
}

bool is_shield(const DecodedChar& decoded) {
  return decoded.code_point >= shield_base && decoded.code_point < shield_base + 256;
}

std::string shielded(std::string_view line) {
  std::string result;
  for_each_char(line, [&](const DecodedChar& decoded, std::string_view bytes) {
    SHARDGPT_REQUIRE(!is_shield(decoded),
                     "the line has bytes that are no UTF-8 and characters above U+10FF00, which "
                     "cannot be read together");
    if (decoded.bytes == 0) {
      append_utf8(result, shield_base + static_cast<unsigned char>(bytes[0]));
    } else {
      result += bytes;
    }
  });
  return result;
}

std::string unshielded(std::string_view text) {
  std::string result;
  for_each_char(text, [&](const DecodedChar& decoded, std::string_view bytes) {
    if (is_shield(decoded)) {
      result.push_back(static_cast<char>(decoded.code_point - shield_base));
    } else {
      result += bytes;
    }
  });
  return result;
}

std::string parse_text(std::string_view line, const std::string& key) {
  nlohmann::json object;
  int found_keys = 0;  // of the line's object itself; JSON leaves open which of two would count
  try {
    object = nlohmann::json::parse(line, [&](int depth, nlohmann::json::parse_event_t event, auto& parsed) {
      found_keys += event == nlohmann::json::parse_event_t::key && depth == 1 && parsed == key ? 1 : 0;
      return true;
    });
  } catch (const nlohmann::json::exception& error) {
    throw InputError(std::string("not one JSON object: ") + error.what());
  }
  SHARDGPT_REQUIRE(object.is_object(),
                   std::string("holds a JSON ") + object.type_name() + ", wanted an object");
  SHARDGPT_REQUIRE(found_keys < 2, "the object has the key '" + key + "' twice");
  const auto found = object.find(key);
  SHARDGPT_REQUIRE(found != object.end(), "the object has no key '" + key + "' (--jsonl-key)");
  SHARDGPT_REQUIRE(found->is_string(), "'" + key + "' is a " + found->type_name() + ", wanted a string");
  return std::move(found->get_ref<std::string&>());
}

}  // namespace

bool is_blank_json_line(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::string text_of_json_line(std::string_view line, const std::string& key) {
  return count_invalid_utf8(line) == 0 ? parse_text(line, key) : unshielded(parse_text(shielded(line), key));
}

}  // namespace shardgpt
