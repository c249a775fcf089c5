#include "hf/safetensors_header.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "hf/strict_json.hpp"

namespace shardgpt {
namespace {

constexpr std::array<std::pair<std::string_view, std::int64_t>, 15> type_bytes = {{{"F64", 8},
                                                                                   {"F32", 4},
                                                                                   {"F16", 2},
                                                                                   {"BF16", 2},
                                                                                   {"F8_E4M3", 1},
                                                                                   {"F8_E5M2", 1},
                                                                                   {"I64", 8},
                                                                                   {"I32", 4},
                                                                                   {"I16", 2},
                                                                                   {"I8", 1},
                                                                                   {"U64", 8},
                                                                                   {"U32", 4},
                                                                                   {"U16", 2},
                                                                                   {"U8", 1},
                                                                                   {"BOOL", 1}}};

/// A JSON number that is a non-negative 64-bit integer.
std::int64_t read_count(const nlohmann::json& value, const std::string& what) {
  SHARDGPT_REQUIRE(value.is_number_unsigned() && std::in_range<std::int64_t>(value.get<std::uint64_t>()),
                   what + " is " + brief(value) + ", wanted a non-negative 64-bit integer");
  return value.get<std::int64_t>();
}

const nlohmann::json& field(const nlohmann::json& entry, const char* name, const std::string& what) {
  SHARDGPT_REQUIRE(entry.is_object() && entry.contains(name), what + ": " + name + " is missing");
  return entry[name];
}

std::int64_t bytes_of_type(const std::string& dtype, const std::string& what) {
  const auto* found = std::ranges::find(type_bytes, dtype, &std::pair<std::string_view, std::int64_t>::first);
  SHARDGPT_REQUIRE(found != type_bytes.end(), what + ": unknown dtype \"" + dtype + "\"");
  return found->second;
}

SafetensorsEntry read_entry(const std::string& name, const nlohmann::json& json, const std::string& where) {
  const std::string what = where + ": tensor " + name;
  SafetensorsEntry entry;
  entry.name = name;
  const nlohmann::json& dtype = field(json, "dtype", what);
  SHARDGPT_REQUIRE(dtype.is_string(), what + ": dtype is " + brief(dtype) + ", wanted a string");
  entry.dtype = dtype.get<std::string>();
  const nlohmann::json& shape = field(json, "shape", what);
  SHARDGPT_REQUIRE(shape.is_array(), what + ": shape is " + brief(shape) + ", wanted an array");
  const nlohmann::json& offsets = field(json, "data_offsets", what);
  SHARDGPT_REQUIRE(offsets.is_array() && offsets.size() == 2,
                   what + ": data_offsets is " + brief(offsets) + ", wanted two numbers");
  entry.begin = read_count(offsets[0], what + ": data_offsets");
  entry.end = read_count(offsets[1], what + ": data_offsets");
  std::int64_t bytes = bytes_of_type(entry.dtype, what);
  try {
    entry.elements = 1;
    for (const nlohmann::json& extent : shape) {
      entry.shape.push_back(read_count(extent, what + ": shape"));
      entry.elements = checked_mul(entry.elements, entry.shape.back());
    }
    bytes = checked_mul(bytes, entry.elements);
  } catch (const std::overflow_error&) {
    throw InputError(what + ": the product of shape " + brief(shape) + " overflows 64 bits");
  }
  SHARDGPT_REQUIRE(entry.begin <= entry.end && entry.end - entry.begin == bytes,
                   what + ": data_offsets " + brief(offsets) + " are not the " + std::to_string(bytes) +
                       " bytes of " + entry.dtype + " " + brief(shape));
  return entry;
}

std::map<std::string, std::string> read_metadata(const nlohmann::json& json, const std::string& where) {
  std::map<std::string, std::string> metadata;
  if (json.is_null()) {
    return metadata;
  }
  SHARDGPT_REQUIRE(json.is_object(), where + ": __metadata__ is not an object of strings");
  for (const auto& [key, value] : json.items()) {
    SHARDGPT_REQUIRE(value.is_string(), where + ": __metadata__ \"" + key + "\" is not a string");
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

void require_no_gap_no_overlap(const std::vector<SafetensorsEntry>& entries, std::int64_t data_bytes,
                               const std::string& where) {
  std::int64_t covered = 0;
  std::string last = "the header";
  for (const SafetensorsEntry& entry : entries) {
    const std::string what = where + ": tensor " + entry.name;
    SHARDGPT_REQUIRE(entry.end <= data_bytes, what + " ends at byte " + std::to_string(entry.end) + " of " +
                                                  std::to_string(data_bytes) + " data bytes");
    SHARDGPT_REQUIRE(entry.begin >= covered, what + " shares bytes with " + last);
    SHARDGPT_REQUIRE(entry.begin <= covered, what + ": the " + std::to_string(entry.begin - covered) +
                                                 " bytes before it belong to no tensor");
    covered = entry.end;
    last = entry.name;
  }
  SHARDGPT_REQUIRE(covered == data_bytes, where + ": " + std::to_string(data_bytes - covered) +
                                              " bytes after " + last + " belong to no tensor");
}

}  // namespace

SafetensorsHeader parse_safetensors_header(const std::string& json, std::int64_t data_bytes,
                                           const std::string& where) {
  SHARDGPT_REQUIRE(json.starts_with('{'), where + ": the header does not start with '{'");
  const nlohmann::json parsed = parse_strict_object(json, where + ": header");
  SafetensorsHeader header;
  for (const auto& [name, value] : parsed.items()) {
    if (name == "__metadata__") {
      header.metadata = read_metadata(value, where);
    } else {
      header.entries.push_back(read_entry(name, value, where));
    }
  }
  std::ranges::sort(header.entries, {}, [](const SafetensorsEntry& entry) {
    return std::tuple(entry.begin, entry.end, entry.name);
  });
  require_no_gap_no_overlap(header.entries, data_bytes, where);
  return header;
}

}  // namespace shardgpt
