#pragma once

#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tokens/dataset_manifest.hpp"
#include "tokens/folder_claim.hpp"
#include "tokens/shard_writer.hpp"

namespace shardgpt {

/// A small file that belongs to a set and is published with it.
struct CompanionFile {
  std::string name;
  std::string content;
};

/// Writes a token stream as NAME_000000.bin, NAME_000001.bin, … and, last, dataset.json. Until `finish` all
/// shards have temporary names, which an unfinished writer removes; an older set in the folder stays whole
/// until then. What a killed writer has left is thrown away by the next one, and two at a time are refused.
class DatasetWriter {
 public:
  enum class Existing { refuse, replace };

  /// `folder` is created where needed. Throws InputError where it holds a finished set or other shards,
  /// unless told to replace them, and always where it holds .bin files that belong to no set.
  DatasetWriter(std::filesystem::path folder, std::string name, TokenType type, std::int64_t shard_tokens,
                Existing existing);

  void append(std::span<const std::int32_t> ids);
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }

  /// Publishes the set. `manifest` brings tokenizer, policy and sources; name, type and shards are filled in.
  /// An empty stream gives one shard of zero tokens. Returns the manifest as written.
  DatasetManifest finish(DatasetManifest manifest, std::span<const CompanionFile> companions = {});
  /// The same in two steps, for sets that belong together: what is published but not released is started over
  /// by the next run.
  DatasetManifest publish(DatasetManifest manifest, std::span<const CompanionFile> companions = {});
  void release();

 private:
  void start_shard();
  /// Has the newest shard made durable and hashed beside the encoding of the next; waits for the one before.
  void finish_shard();
  /// Waits for the shard that is being made durable, if there is one; throws what went wrong there.
  void await_finishing();
  /// The shards of an older set or run in the folder; throws InputError where another .bin file is there.
  [[nodiscard]] std::vector<std::string> old_shards() const;
  void remove_old_set() const;

  std::filesystem::path folder_;
  std::string name_;
  TokenType type_;
  std::int64_t shard_tokens_;
  std::int64_t tokens_ = 0;
  std::unique_ptr<FolderClaim> claim_;
  /// In order; the last one is being written or finishing, those before it are finished or finishing.
  std::vector<std::unique_ptr<ShardWriter>> shards_;
  bool writing_ = false;  ///< whether the last of shards_ still takes ids
  std::vector<ShardRecord> records_;
  std::future<ShardRecord> finishing_;  // last: its destructor waits for work on a shard
};

/// The `.bin` files of a folder, names only, in bytewise order.
[[nodiscard]] std::vector<std::string> shard_files_in(const std::filesystem::path& folder);

}  // namespace shardgpt
