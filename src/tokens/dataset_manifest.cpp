#include "tokens/dataset_manifest.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/atomic_file.hpp"
#include "core/error.hpp"

namespace shardgpt {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* format_name = "shardgpt-dataset";
constexpr int format_version = 1;

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
}

bool is_hash(const std::string& text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

ShardRecord shard_from_json(const Json& json) {
  ShardRecord shard;
  json.at("file").get_to(shard.file);
  json.at("tokens").get_to(shard.tokens);
  json.at("bytes").get_to(shard.bytes);
  json.at("largest_id").get_to(shard.largest_id);
  json.at("xxh3_64").get_to(shard.xxh3_64);
  return shard;
}

DatasetManifest from_json(const Json& json) {
  DatasetManifest manifest;
  json.at("name").get_to(manifest.name);
  const auto type = json.at("token_type").get<std::string>();
  SHARDGPT_REQUIRE(type == "uint16" || type == "uint32",
                   "token_type is '" + type + "', wanted 'uint16' or 'uint32'");
  manifest.token_type = type == "uint16" ? TokenType::u16 : TokenType::u32;
  const Json& tokenizer = json.at("tokenizer");
  tokenizer.at("hash").get_to(manifest.tokenizer.hash);
  tokenizer.at("vocab_size").get_to(manifest.tokenizer.vocab_size);
  if (const Json& id = tokenizer.at("end_of_text_id"); !id.is_null()) {
    manifest.tokenizer.end_of_text_id = id.get<std::int64_t>();
  }
  tokenizer.at("vocab_file").get_to(manifest.tokenizer.vocab_file);
  tokenizer.at("merges_file").get_to(manifest.tokenizer.merges_file);
  json.at("document_policy").get_to(manifest.document_policy);
  manifest.separator = json.value("separator", "");
  manifest.detokenize = json.value("detokenize", "none");
  json.at("end_of_text_appended").get_to(manifest.end_of_text_appended);
  json.at("special_parsed").get_to(manifest.special_parsed);
  json.at("documents").get_to(manifest.documents);
  json.at("special_in_text").get_to(manifest.special_in_text);
  json.at("invalid_utf8_bytes").get_to(manifest.invalid_utf8_bytes);
  for (const Json& shard : json.at("shards")) {
    manifest.shards.push_back(shard_from_json(shard));
  }
  for (const Json& source : json.at("sources")) {
    manifest.sources.push_back({source.at("file").get<std::string>(), source.at("format").get<std::string>(),
                                source.at("bytes").get<std::int64_t>()});
  }
  const auto tokens = json.at("tokens").get<std::int64_t>();
  SHARDGPT_REQUIRE(tokens == manifest.tokens(),
                   fmt::format("tokens is {}, but the shards add up to {}", tokens, manifest.tokens()));
  return manifest;
}

void check(const DatasetManifest& manifest) {
  SHARDGPT_REQUIRE(!manifest.shards.empty(), "shards is empty, wanted at least one");
  const std::string* previous = nullptr;
  for (const ShardRecord& shard : manifest.shards) {
    SHARDGPT_REQUIRE(is_plain_name(shard.file), "shards: file '" + shard.file + "' is not a plain file name");
    SHARDGPT_REQUIRE(previous == nullptr || *previous < shard.file,
                     "shards: '" + shard.file + "' is out of bytewise order or listed twice");
    SHARDGPT_REQUIRE(shard.tokens >= 0 && shard.tokens <= max_shard_tokens &&
                         shard.bytes == shard_file_bytes(manifest.token_type, shard.tokens),
                     fmt::format("shards: '{}' has {} tokens and {} bytes, which do not belong together",
                                 shard.file, shard.tokens, shard.bytes));
    SHARDGPT_REQUIRE(
        shard.largest_id >= -1 && shard.largest_id < manifest.tokenizer.vocab_size,
        fmt::format(
            "shards: '{}' has largest_id {}, outside the vocabulary of {} entries (tokenizer.vocab_size)",
            shard.file, shard.largest_id, manifest.tokenizer.vocab_size));
    SHARDGPT_REQUIRE(is_hash(shard.xxh3_64), "shards: '" + shard.file + "' has xxh3_64 '" + shard.xxh3_64 +
                                                 "', wanted 16 hex digits");
    previous = &shard.file;
  }
  for (const std::string& file : {manifest.tokenizer.vocab_file, manifest.tokenizer.merges_file}) {
    SHARDGPT_REQUIRE(file.empty() || is_plain_name(file),
                     "tokenizer: '" + file + "' is not a plain file name");
  }
}

Json to_json(const DatasetManifest& manifest) {
  Json json;
  json["format"] = format_name;
  json["version"] = format_version;
  json["name"] = manifest.name;
  json["token_type"] = token_type_name(manifest.token_type);
  json["tokens"] = manifest.tokens();
  json["largest_id"] = manifest.largest_id();
  json["documents"] = manifest.documents;
  json["document_policy"] = manifest.document_policy;
  if (!manifest.separator.empty()) {
    json["separator"] = manifest.separator;
  }
  json["detokenize"] = manifest.detokenize;
  json["end_of_text_appended"] = manifest.end_of_text_appended;
  json["special_parsed"] = manifest.special_parsed;
  json["special_in_text"] = manifest.special_in_text;
  json["invalid_utf8_bytes"] = manifest.invalid_utf8_bytes;
  Json& tokenizer = json["tokenizer"];
  tokenizer["hash"] = manifest.tokenizer.hash;
  tokenizer["vocab_size"] = manifest.tokenizer.vocab_size;
  tokenizer["end_of_text_id"] =
      manifest.tokenizer.end_of_text_id ? Json(*manifest.tokenizer.end_of_text_id) : Json(nullptr);
  tokenizer["vocab_file"] = manifest.tokenizer.vocab_file;
  tokenizer["merges_file"] = manifest.tokenizer.merges_file;
  json["shards"] = Json::array();
  for (const ShardRecord& shard : manifest.shards) {
    Json& entry = json["shards"].emplace_back();
    entry["file"] = shard.file;
    entry["tokens"] = shard.tokens;
    entry["bytes"] = shard.bytes;
    entry["largest_id"] = shard.largest_id;
    entry["xxh3_64"] = shard.xxh3_64;
  }
  json["sources"] = Json::array();
  for (const SourceRecord& source : manifest.sources) {
    Json& entry = json["sources"].emplace_back();
    entry["file"] = source.file;
    entry["format"] = source.format;
    entry["bytes"] = source.bytes;
  }
  return json;
}

}  // namespace

std::int64_t DatasetManifest::tokens() const {
  std::int64_t sum = 0;
  for (const ShardRecord& shard : shards) {
    sum += shard.tokens;
  }
  return sum;
}

std::int64_t DatasetManifest::largest_id() const {
  std::int64_t largest = -1;
  for (const ShardRecord& shard : shards) {
    largest = std::max(largest, shard.largest_id);
  }
  return largest;
}

DatasetManifest read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / manifest_file_name;
  const std::string text = read_text_file(path);
  try {
    const Json json = Json::parse(text);
    SHARDGPT_REQUIRE(json.is_object() && json.value("format", "") == format_name,
                     std::string("format is missing or unknown, wanted '") + format_name + "'");
    SHARDGPT_REQUIRE(json.at("version") == format_version,
                     "version is " + json.at("version").dump() + ", this program reads version 1");
    DatasetManifest manifest = from_json(json);
    check(manifest);
    return manifest;
  } catch (const InputError& error) {
    throw InputError(path.string() + ": " + error.what());
  } catch (const nlohmann::json::exception& error) {
    throw InputError(path.string() + " is damaged: " + error.what() + "; encode the set again");
  }
}

void write_manifest(const std::filesystem::path& folder, const DatasetManifest& manifest) {
  check(manifest);
  // A source's file name may be no UTF-8; it is information for people, so a replacement is good enough.
  const std::string text = to_json(manifest).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  write_file_atomically(folder / manifest_file_name, text);
}

}  // namespace shardgpt
