#include "tokens/dataset_writer.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/atomic_file.hpp"
#include "core/checked.hpp"
#include "core/error.hpp"

namespace shardgpt {

namespace {

/// Whether `file` is `name` + "_" + digits + `suffix`.
bool is_shard_name(std::string_view file, std::string_view name, std::string_view suffix) {
  if (!file.starts_with(name) || !file.ends_with(suffix) || file.size() < name.size() + suffix.size() + 2) {
    return false;
  }
  const std::string_view middle = file.substr(name.size(), file.size() - name.size() - suffix.size());
  return middle.front() == '_' && middle.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

/// Names of the files in `folder` that end in `suffix`, in bytewise order.
std::vector<std::string> files_in(const std::filesystem::path& folder, std::string_view suffix) {
  std::vector<std::string> names;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    std::string name = entry->path().filename().string();
    if (name.ends_with(suffix)) {
      names.push_back(std::move(name));
    }
  }
  SHARDGPT_REQUIRE(!failure, "cannot list " + folder.string() + ": " + failure.message());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<std::string> shard_files_in(const std::filesystem::path& folder) {
  return files_in(folder, ".bin");
}

DatasetWriter::DatasetWriter(std::filesystem::path folder, std::string name, TokenType type,
                             std::int64_t shard_tokens, Existing existing)
    : folder_(std::move(folder)), name_(std::move(name)), type_(type), shard_tokens_(shard_tokens) {
  SHARDGPT_REQUIRE(!name_.empty() && name_.find('/') == std::string::npos,
                   "the set's name '" + name_ + "' must be a plain file name");
  SHARDGPT_REQUIRE(shard_tokens_ >= 1 && shard_tokens_ <= max_shard_tokens,
                   fmt::format("tokens per shard is {}, wanted 1 to {}", shard_tokens_, max_shard_tokens));
  std::error_code failure;
  std::filesystem::create_directories(folder_, failure);
  SHARDGPT_REQUIRE(!failure && std::filesystem::is_directory(folder_),
                   "cannot create the folder " + folder_.string() + ": " + failure.message());
  claim_ = std::make_unique<FolderClaim>(folder_);
  const std::vector<std::string> old = old_shards();
  const bool has_set = std::filesystem::exists(folder_ / manifest_file_name);
  if (existing == Existing::refuse && !claim_->has_leftovers()) {
    SHARDGPT_REQUIRE(
        !has_set,
        folder_.string() + " already holds a finished set (dataset.json); pass --overwrite to replace it");
    SHARDGPT_REQUIRE(old.empty(), folder_.string() + " already holds shards, " + old.front() +
                                      " first; pass --overwrite to replace them, or another folder");
  }
  claim_->set(!has_set && old.empty()   ? FolderClaim::State::empty
              : claim_->has_leftovers() ? FolderClaim::State::publishing
                                        : FolderClaim::State::replacing);
}

std::vector<std::string> DatasetWriter::old_shards() const {
  std::set<std::string> listed;
  if (std::filesystem::exists(folder_ / manifest_file_name)) {
    for (const ShardRecord& shard : read_manifest(folder_).shards) {
      listed.insert(shard.file);
    }
  }
  std::vector<std::string> files = shard_files_in(folder_);
  for (const std::string& file : files) {
    SHARDGPT_REQUIRE(listed.contains(file) || is_shard_name(file, name_, ".bin"),
                     (folder_ / file).string() + " belongs to no token set and stays; choose another folder");
  }
  return files;
}

void DatasetWriter::append(std::span<const std::int32_t> ids) {
  while (!ids.empty()) {
    if (!writing_) {
      start_shard();
    }
    const auto space = narrow<std::size_t>(shard_tokens_ - shards_.back()->tokens());
    const auto part = ids.first(std::min(space, ids.size()));
    shards_.back()->append(part);
    tokens_ += narrow<std::int64_t>(part.size());
    ids = ids.subspan(part.size());
    if (shards_.back()->tokens() == shard_tokens_) {
      finish_shard();
    }
  }
}

void DatasetWriter::start_shard() {
  SHARDGPT_REQUIRE(shards_.size() < 1'000'000, "more than a million shards; raise --shard-tokens");
  const std::string file = fmt::format("{}_{:06}.bin", name_, shards_.size());
  shards_.push_back(std::make_unique<ShardWriter>(folder_ / file, type_));
  writing_ = true;
}

void DatasetWriter::finish_shard() {
  await_finishing();
  writing_ = false;
  finishing_ = std::async(std::launch::async, [shard = shards_.back().get()] { return shard->finish(); });
}

void DatasetWriter::await_finishing() {
  if (finishing_.valid()) {
    records_.push_back(finishing_.get());
  }
}

void DatasetWriter::remove_old_set() const {
  const std::vector<std::string> old = old_shards();
  // The mark of completeness goes first: from here to the new dataset.json the folder is openly unfinished.
  std::filesystem::remove(folder_ / manifest_file_name);
  for (const std::string& file : old) {
    std::filesystem::remove(folder_ / file);
  }
}

DatasetManifest DatasetWriter::finish(DatasetManifest manifest, std::span<const CompanionFile> companions) {
  manifest = publish(std::move(manifest), companions);
  release();
  return manifest;
}

void DatasetWriter::release() {
  claim_->release();
}

DatasetManifest DatasetWriter::publish(DatasetManifest manifest, std::span<const CompanionFile> companions) {
  if (shards_.empty()) {
    start_shard();
  }
  if (writing_) {
    finish_shard();
  }
  await_finishing();
  claim_->set(FolderClaim::State::publishing);
  remove_old_set();
  for (const auto& shard : shards_) {
    shard->publish();
  }
  for (const CompanionFile& companion : companions) {
    write_file_atomically(folder_ / companion.name, companion.content);
  }
  for (const std::string& file : files_in(folder_, ".bin.tmp")) {
    if (is_shard_name(file, name_, ".bin.tmp")) {
      std::filesystem::remove(folder_ / file);  // of a run that was killed
    }
  }
  manifest.name = name_;
  manifest.token_type = type_;
  manifest.shards = records_;
  write_manifest(folder_, manifest);
  return manifest;
}

}  // namespace shardgpt
