#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tokens/dataset_manifest.hpp"
#include "tokens/mapped_file.hpp"
#include "tokens/shard_file.hpp"

namespace shardgpt {

/// A token stream on disk: shards joined in bytewise order of their names, mapped read-only. Immutable after
/// `open`, so threads may read it at once. Opening is local; compare `fingerprint()` over ranks.
class TokenDataset {
 public:
  /// `location` is a folder (its dataset.json is then required and checked), one shard, or a glob pattern
  /// (shards from anywhere; a dataset.json beside them is used for those it lists). `vocab_size` is the
  /// number of ids the model was made for, without padding; 0 accepts every id and both token types. Throws
  /// InputError for what is missing, cut, empty, mixed or not a shard, and for an id outside the vocabulary
  /// where that is recorded.
  [[nodiscard]] static TokenDataset open(const std::string& location, std::int64_t vocab_size);

  [[nodiscard]] std::int64_t tokens() const { return first_token_.back(); }
  /// ⌊(tokens − 1) / seq_len⌋: each window needs one token more than it has inputs.
  [[nodiscard]] std::int64_t windows(std::int64_t seq_len) const;

  /// Reads tokens [w·T, w·T + T] of the stream into `inputs` [T] and, one later, `targets` [T]. Throws
  /// InputError naming shard, position, id and vocabulary where an id is outside the vocabulary.
  void read_window(std::int64_t window, std::int64_t seq_len, std::span<std::int32_t> inputs,
                   std::span<std::int32_t> targets) const;
  /// Reads `out.size()` tokens from `begin` on, across shard borders, with the same check.
  void read_tokens(std::int64_t begin, std::span<std::int32_t> out) const;

  /// The largest id of the whole stream, where dataset.json records it of every shard.
  [[nodiscard]] std::optional<std::int64_t> recorded_largest_id() const { return recorded_largest_id_; }
  /// The largest id among tokens [begin, end); −1 where there are none. For splitting a scan over ranks.
  [[nodiscard]] std::int64_t largest_id_in(std::int64_t begin, std::int64_t end) const;
  /// Throws InputError naming the first token of [begin, end) whose id is outside the vocabulary.
  void check_ids(std::int64_t begin, std::int64_t end) const;
  /// Bytes that a scan of the whole stream has to read.
  [[nodiscard]] std::int64_t payload_bytes() const;

  /// Hash over the shards' names, order and sizes, and their content where its hash is recorded (elsewhere
  /// over both ends of it). 16 hex digits; equal on all ranks that see the same data, and after moving the
  /// folder.
  [[nodiscard]] const std::string& fingerprint() const { return fingerprint_; }
  /// Hash of the tokenizer that made the shards; empty where it is not recorded.
  [[nodiscard]] const std::string& tokenizer_hash() const { return tokenizer_hash_; }
  /// The manifest of the folder, where `location` was one.
  [[nodiscard]] const std::optional<DatasetManifest>& manifest() const { return manifest_; }
  [[nodiscard]] const std::string& location() const { return location_; }

  /// What is known of one shard. `record` has an empty hash and largest_id −1 where no dataset.json lists it.
  struct Shard {
    ShardFile file;
    ShardRecord record;
    std::string tokenizer_hash;
  };
  [[nodiscard]] const std::vector<Shard>& shards() const { return shards_; }

  /// Tells the kernel how the stream will be read. Sets of up to 1 GiB are read ahead whole.
  void advise(AccessPattern pattern) const;

 private:
  TokenDataset(std::string location, std::int64_t vocab_size);
  void open_folder();
  void open_files(const std::vector<std::string>& paths);
  void add_shard(const std::filesystem::path& path, const ShardRecord* record,
                 const std::string& tokenizer_hash);
  void check_recorded_ids();
  void check_same_tokenizer();
  [[nodiscard]] std::string make_fingerprint() const;
  [[nodiscard]] std::size_t shard_of(std::int64_t token) const;
  /// Calls visit(shard index, first token in the shard, count) for each part of [begin, end).
  template <class Visit>
  void for_each_part(std::int64_t begin, std::int64_t end, Visit&& visit) const;
  [[noreturn]] void throw_bad_id(std::size_t shard, std::int64_t offset) const;

  std::string location_;
  std::int64_t vocab_size_;
  std::vector<Shard> shards_;
  std::vector<std::int64_t> first_token_{0};  ///< [shards + 1] stream position of each shard's first token
  std::optional<DatasetManifest> manifest_;
  std::optional<std::int64_t> recorded_largest_id_;
  std::string tokenizer_hash_;
  std::string fingerprint_;
};

}  // namespace shardgpt
