#pragma once

#include <string>
#include <string_view>

namespace shardgpt {

/// The text of one JSONL line: the string under `key` of the one object that the line holds. Bytes that are
/// no UTF-8 come through as they are. Throws InputError (without place) where the line is anything else.
[[nodiscard]] std::string text_of_json_line(std::string_view line, const std::string& key);

/// Whether a line holds nothing but JSON white space.
[[nodiscard]] bool is_blank_json_line(std::string_view line);

}  // namespace shardgpt
