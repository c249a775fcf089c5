#include <algorithm>
#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "data_prep/bpe_model.hpp"
#include "data_prep/commands.hpp"
#include "tokens/dataset_manifest.hpp"
#include "tokens/dataset_writer.hpp"
#include "tokens/shard_file.hpp"
#include "tokens/shard_writer.hpp"

namespace shardgpt {
namespace {

/// What differs between a shard and its record; empty: nothing.
std::vector<std::string> differences(const std::filesystem::path& path, const ShardRecord& record) {
  std::vector<std::string> found;
  const auto compare = [&](const char* what, const auto& is, const auto& recorded) {
    if (is != recorded) {
      found.push_back(fmt::format("{}: {} is {}, dataset.json says {}", path.string(), what, is, recorded));
    }
  };
  try {
    const ShardFile shard(path, WideIds::accept);
    compare("token count", shard.tokens(), record.tokens);
    compare("largest id", shard.largest_id(0, shard.tokens()), record.largest_id);
    compare("XXH3-64", hash_file(path), record.xxh3_64);
  } catch (const InputError& error) {
    found.emplace_back(error.what());
  }
  return found;
}

std::vector<std::string> tokenizer_differences(const std::filesystem::path& folder,
                                               const TokenizerRecord& record) {
  if (record.vocab_file.empty() || record.merges_file.empty()) {
    return {};
  }
  try {
    const BpeModel model = BpeModel::load(folder / record.vocab_file, folder / record.merges_file);
    if (model.hash() == record.hash && model.vocab_size() == record.vocab_size) {
      return {};
    }
    return {fmt::format("{} and {}: tokenizer hash is {} with {} entries, dataset.json says {} with {}",
                        (folder / record.vocab_file).string(), (folder / record.merges_file).string(),
                        model.hash(), model.vocab_size(), record.hash, record.vocab_size)};
  } catch (const InputError& error) {
    return {error.what()};
  }
}

}  // namespace

void run_verify(const VerifyOptions& options, std::ostream& out) {
  const std::filesystem::path folder = options.folder;
  std::error_code ignored;
  SHARDGPT_REQUIRE(std::filesystem::is_directory(folder, ignored), folder.string() + " is not a folder");
  const DatasetManifest manifest = read_manifest(folder);
  std::vector<std::string> all = tokenizer_differences(folder, manifest.tokenizer);
  for (const ShardRecord& record : manifest.shards) {
    const std::vector<std::string> found = differences(folder / record.file, record);
    out << record.file << (found.empty() ? " ok\n" : " DIFFERS\n");
    all.insert(all.end(), found.begin(), found.end());
  }
  for (const std::string& file : shard_files_in(folder)) {
    const auto listed = std::any_of(manifest.shards.begin(), manifest.shards.end(),
                                    [&](const ShardRecord& record) { return record.file == file; });
    if (!listed) {
      all.push_back((folder / file).string() + " is not listed in dataset.json");
    }
  }
  SHARDGPT_REQUIRE(all.empty(), fmt::format("{} does not match its dataset.json: {}", folder.string(),
                                            fmt::join(all, "; ")));
  out << fmt::format("{} tokens in {} shard(s) match dataset.json\n", manifest.tokens(),
                     manifest.shards.size());
}

}  // namespace shardgpt
