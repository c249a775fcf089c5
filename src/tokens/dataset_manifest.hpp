#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/shard_format.hpp"

namespace shardgpt {

/// What dataset.json says of one shard.
struct ShardRecord {
  std::string file;  ///< name within the folder
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;        ///< of the whole file
  std::int64_t largest_id = -1;  ///< −1 where the shard has no tokens
  std::string xxh3_64;           ///< of the whole file, 16 hex digits, as `xxhsum -H3` prints it
};

struct TokenizerRecord {
  std::string hash;  ///< of vocabulary and merges, not of the files' bytes: line ends do not matter
  std::int64_t vocab_size = 0;
  std::optional<std::int64_t> end_of_text_id;
  std::string vocab_file;   ///< copy within the folder; empty: none
  std::string merges_file;  ///< copy within the folder; empty: none
};

struct SourceRecord {
  std::string file;    ///< as given on the command line
  std::string format;  ///< "text", "jsonl", "parquet", or what was imported: "llmc", "nanogpt", "megatron"
  std::int64_t bytes = 0;  ///< of text, unpacked; of an import, of the file
};

/// The content of dataset.json, which marks a folder of shards as complete.
struct DatasetManifest {
  std::string name;  ///< shards are NAME_000000.bin, …
  TokenType token_type = TokenType::u16;
  TokenizerRecord tokenizer;
  /// What a document of a text file is: "file", "line", "heading", "separator" or "none"; "imported": as the
  /// source had it.
  std::string document_policy;
  std::string separator;            ///< for the policy "separator"
  std::string detokenize = "none";  ///< "none": the text as it was; "wikitext": WikiText's spacing undone
  bool end_of_text_appended = false;
  bool special_parsed = false;          ///< the end-of-text marker in the text became the end-of-text id
  std::int64_t documents = 0;           ///< that gave tokens
  std::int64_t special_in_text = 0;     ///< times that marker stood in the text
  std::int64_t invalid_utf8_bytes = 0;  ///< kept, one symbol each
  std::vector<ShardRecord> shards;
  std::vector<SourceRecord> sources;

  [[nodiscard]] std::int64_t tokens() const;
  [[nodiscard]] std::int64_t largest_id() const;
};

inline constexpr std::string_view manifest_file_name = "dataset.json";

/// Throws InputError naming file and field where dataset.json is missing, damaged or contradicts itself.
[[nodiscard]] DatasetManifest read_manifest(const std::filesystem::path& folder);

/// Writes dataset.json into `folder`, atomically.
void write_manifest(const std::filesystem::path& folder, const DatasetManifest& manifest);

}  // namespace shardgpt
