#include "hf/strict_json.hpp"

#include <set>
#include <vector>

#include "core/error.hpp"

namespace shardgpt {
namespace {

// Files read here nest three deep. The library that prints a value for a message recurses.
constexpr int depth_limit = 64;
constexpr std::size_t longest_quote = 200;

/// The start of a text for a message, cut between two characters of UTF-8.
std::string shortened(std::string text) {
  if (text.size() <= longest_quote) {
    return text;
  }
  std::size_t end = longest_quote;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end) + "...";
}

}  // namespace

nlohmann::json parse_strict_object(const std::string& text, const std::string& where) {
  std::vector<std::set<std::string>> open_objects;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    SHARDGPT_REQUIRE(depth <= depth_limit,
                     where + ": nested deeper than " + std::to_string(depth_limit) + " levels");
    switch (event) {
      case nlohmann::json::parse_event_t::object_start:
        open_objects.emplace_back();
        break;
      case nlohmann::json::parse_event_t::object_end:
        open_objects.pop_back();
        break;
      case nlohmann::json::parse_event_t::key:
        SHARDGPT_REQUIRE(open_objects.back().insert(parsed.get<std::string>()).second,
                         where + ": the key " + brief(parsed) + " comes twice");
        break;
      default:
        break;
    }
    return true;
  };
  try {
    nlohmann::json json = nlohmann::json::parse(text, watch);
    SHARDGPT_REQUIRE(json.is_object(), where + ": not a JSON object");
    return json;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(where + ": not valid JSON: " + shortened(error.what()));
  }
}

std::string brief(const nlohmann::json& value) {
  return shortened(value.dump());
}

}  // namespace shardgpt
