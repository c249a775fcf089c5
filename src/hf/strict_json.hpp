#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace shardgpt {

/// Parses `text` as one JSON object in which no key comes twice at the same place and nothing nests deeper
/// than 64 levels. Throws InputError that starts with `where` and names the byte or the key.
[[nodiscard]] nlohmann::json parse_strict_object(const std::string& text, const std::string& where);

/// A value for a message: its JSON text, cut after 200 bytes.
[[nodiscard]] std::string brief(const nlohmann::json& value);

}  // namespace shardgpt
