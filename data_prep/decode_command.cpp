#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <ostream>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "data_prep/bpe_model.hpp"
#include "data_prep/commands.hpp"
#include "tokens/dataset_manifest.hpp"
#include "tokens/shard_file.hpp"

namespace shardgpt {
namespace {

constexpr std::int64_t ids_at_once = 1 << 18;

/// The shards that the arguments name, folders by their manifest.
std::vector<std::filesystem::path> shard_paths(const std::vector<std::string>& locations) {
  std::vector<std::filesystem::path> paths;
  for (const std::filesystem::path location : locations) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(location, ignored)) {
      paths.push_back(location);
      continue;
    }
    for (const ShardRecord& record : read_manifest(location).shards) {
      paths.push_back(location / record.file);
    }
  }
  return paths;
}

BpeModel load_model(const DecodeOptions& options, const std::filesystem::path& first_shard) {
  SHARDGPT_REQUIRE(options.vocab.empty() == options.merges.empty(),
                   "pass --vocab and --merges together, or none of them");
  if (!options.vocab.empty()) {
    return BpeModel::load(options.vocab, options.merges);
  }
  const std::filesystem::path folder = first_shard.has_parent_path() ? first_shard.parent_path() : ".";
  SHARDGPT_REQUIRE(
      std::filesystem::exists(folder / manifest_file_name),
      "no dataset.json beside " + first_shard.string() + " names a tokenizer; pass --vocab and --merges");
  const TokenizerRecord tokenizer = read_manifest(folder).tokenizer;
  return BpeModel::load(folder / tokenizer.vocab_file, folder / tokenizer.merges_file);
}

void decode_shard(const ShardFile& shard, const BpeModel& model, std::optional<std::int32_t> skipped_id,
                  std::ostream& out) {
  std::vector<std::int32_t> ids;
  std::string bytes;
  for (std::int64_t begin = 0; begin < shard.tokens(); begin += ids_at_once) {
    ids.resize(static_cast<std::size_t>(std::min(ids_at_once, shard.tokens() - begin)));
    shard.read(begin, ids);
    if (skipped_id) {
      std::erase(ids, *skipped_id);
    }
    bytes.clear();
    try {
      model.decode(ids, bytes);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}; the shard was made with another tokenizer", shard.path().string(),
                                   error.what()));
    }
    out.write(bytes.data(), narrow<std::streamsize>(bytes.size()));
  }
}

void decode_all(const std::vector<ShardFile>& shards, const BpeModel& model,
                std::optional<std::int32_t> skipped_id, std::ostream& out, const std::string& name) {
  for (const ShardFile& shard : shards) {
    decode_shard(shard, model, skipped_id, out);
  }
  if (!out.flush()) {
    throw Error("cannot write " + name + ": " + std::strerror(errno));
  }
}

}  // namespace

void run_decode(const DecodeOptions& options, std::ostream& out) {
  const std::vector<std::filesystem::path> paths = shard_paths(options.files);
  const BpeModel model = load_model(options, paths.front());
  std::vector<ShardFile> shards;
  for (const std::filesystem::path& path : paths) {
    shards.emplace_back(path, WideIds::accept);
  }
  const auto skipped_id = options.skip_eot ? model.find(options.end_of_text) : std::nullopt;
  SHARDGPT_REQUIRE(
      !options.skip_eot || skipped_id.has_value(),
      "the vocabulary has no token '" + options.end_of_text + "' to leave out (--skip-eot, --end-of-text)");
  if (options.output == "-") {
    decode_all(shards, model, skipped_id, out, "standard output");
    return;
  }
  std::ofstream file(options.output, std::ios::binary | std::ios::trunc);
  SHARDGPT_REQUIRE(file.is_open(), "cannot create " + options.output + ": " + std::strerror(errno));
  decode_all(shards, model, skipped_id, file, options.output);
}

}  // namespace shardgpt
