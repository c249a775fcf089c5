#include "tokens/token_dataset.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <glob.h>
#include <xxhash.h>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "tokens/dataset_writer.hpp"

namespace shardgpt {
namespace {

constexpr std::int64_t read_ahead_whole_bytes = std::int64_t{1} << 30;

/// Owner of glob(3)'s result.
class GlobResult {
 public:
  explicit GlobResult(const std::string& pattern) {
    const int code = ::glob(pattern.c_str(), GLOB_ERR | GLOB_NOSORT, nullptr, &result_);
    if (code != 0) {
      ::globfree(&result_);
      throw InputError(code == GLOB_NOMATCH
                           ? "no file or folder matches '" + pattern + "' (as this program sees it)"
                           : "cannot list the files of '" + pattern + "': " + std::strerror(errno));
    }
  }
  GlobResult(const GlobResult&) = delete;
  GlobResult& operator=(const GlobResult&) = delete;
  ~GlobResult() { ::globfree(&result_); }
  [[nodiscard]] std::vector<std::string> paths() const {
    return {result_.gl_pathv, result_.gl_pathv + result_.gl_pathc};
  }

 private:
  glob_t result_{};
};

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

const ShardRecord* find_record(const DatasetManifest& manifest, const std::string& file) {
  const auto found = std::find_if(manifest.shards.begin(), manifest.shards.end(),
                                  [&](const ShardRecord& record) { return record.file == file; });
  return found == manifest.shards.end() ? nullptr : &*found;
}

}  // namespace

TokenDataset::TokenDataset(std::string location, std::int64_t vocab_size)
    : location_(std::move(location)), vocab_size_(vocab_size) {}

TokenDataset TokenDataset::open(const std::string& location, std::int64_t vocab_size) {
  SHARDGPT_REQUIRE(!location.empty(), "the data location is empty; give a folder, a shard or a pattern");
  TokenDataset dataset(location, vocab_size);
  std::error_code failure;
  const auto status = std::filesystem::status(location, failure);
  if (std::filesystem::is_directory(status)) {
    dataset.open_folder();
  } else if (std::filesystem::exists(status)) {
    dataset.open_files({location});
  } else {
    std::vector<std::string> paths = GlobResult(location).paths();
    std::sort(paths.begin(), paths.end());  // bytewise, whatever the locale
    dataset.open_files(paths);
  }
  dataset.check_same_tokenizer();
  dataset.check_recorded_ids();
  dataset.fingerprint_ = dataset.make_fingerprint();
  return dataset;
}

void TokenDataset::open_folder() {
  const std::filesystem::path folder = location_;
  const std::vector<std::string> files = shard_files_in(folder);
  if (!std::filesystem::exists(folder / manifest_file_name)) {
    throw InputError(
        files.empty()
            ? folder.string() +
                  " holds neither dataset.json nor .bin shards; encode text into it with "
                  "'shardgpt-prep encode --output " +
                  folder.string() + "'"
            : fmt::format("{} holds {} .bin file(s) but no dataset.json: the set is not finished, or comes "
                          "from elsewhere; for shards from elsewhere pass the pattern '{}/*.bin'",
                          folder.string(), files.size(), folder.string()));
  }
  manifest_ = read_manifest(folder);
  for (const std::string& file : files) {
    SHARDGPT_REQUIRE(
        find_record(*manifest_, file) != nullptr,
        fmt::format("{} is not listed in {}: it belongs to another set; move it away, or pass a pattern "
                    "to choose shards",
                    (folder / file).string(), (folder / manifest_file_name).string()));
  }
  for (const ShardRecord& record : manifest_->shards) {
    SHARDGPT_REQUIRE(std::binary_search(files.begin(), files.end(), record.file),
                     fmt::format("{} is missing, but {} lists it; copy it again or encode the set again",
                                 (folder / record.file).string(), (folder / manifest_file_name).string()));
    add_shard(folder / record.file, &record, manifest_->tokenizer.hash);
  }
}

void TokenDataset::open_files(const std::vector<std::string>& paths) {
  std::map<std::filesystem::path, std::optional<DatasetManifest>> manifests;  // by folder
  for (const std::filesystem::path path : paths) {
    const std::filesystem::path folder = folder_of(path);
    auto [entry, is_new] = manifests.try_emplace(folder);
    if (is_new && std::filesystem::exists(folder / manifest_file_name)) {
      entry->second = read_manifest(folder);
    }
    const std::optional<DatasetManifest>& manifest = entry->second;
    const ShardRecord* record = manifest ? find_record(*manifest, path.filename().string()) : nullptr;
    add_shard(path, record, record != nullptr ? manifest->tokenizer.hash : std::string());
  }
}

void TokenDataset::add_shard(const std::filesystem::path& path, const ShardRecord* record,
                             const std::string& tokenizer_hash) {
  const bool wide = vocab_size_ == 0 || vocab_size_ > max_u16_vocab_size;
  ShardFile file(path, wide ? WideIds::accept : WideIds::refuse);
  SHARDGPT_REQUIRE(file.tokens() > 0, path.string() +
                                          " holds 0 tokens; remove it from the set, or encode text that "
                                          "is not empty");
  ShardRecord known{
      path.filename().string(), file.tokens(), narrow<std::int64_t>(file.file().bytes().size()), -1, {}};
  if (record != nullptr) {
    SHARDGPT_REQUIRE(
        record->tokens == known.tokens && record->bytes == known.bytes,
        fmt::format("{} has {} tokens and {} bytes, but dataset.json beside it says {} tokens and {} "
                    "bytes; copy the set again or encode it again",
                    path.string(), known.tokens, known.bytes, record->tokens, record->bytes));
    known = *record;
  }
  first_token_.push_back(checked_add(first_token_.back(), file.tokens()));
  shards_.push_back({std::move(file), std::move(known), tokenizer_hash});
}

void TokenDataset::check_same_tokenizer() {
  for (const Shard& shard : shards_) {
    const Shard& first = shards_.front();
    SHARDGPT_REQUIRE(
        shard.tokenizer_hash == first.tokenizer_hash,
        fmt::format(
            "the shards were made with different tokenizers: {} has tokenizer hash {}, {} has {}; train on "
            "one set, or encode both with the same vocabulary",
            first.file.path().string(),
            first.tokenizer_hash.empty() ? "(not recorded)" : first.tokenizer_hash,
            shard.file.path().string(),
            shard.tokenizer_hash.empty() ? "(not recorded)" : shard.tokenizer_hash));
    SHARDGPT_REQUIRE(shard.file.type() == first.file.type(),
                     fmt::format("{} holds {} ids but {} holds {}", first.file.path().string(),
                                 token_type_name(first.file.type()), shard.file.path().string(),
                                 token_type_name(shard.file.type())));
  }
  tokenizer_hash_ = shards_.front().tokenizer_hash;
}

void TokenDataset::check_recorded_ids() {
  std::int64_t largest = -1;
  bool all_recorded = true;
  for (const Shard& shard : shards_) {
    SHARDGPT_REQUIRE(
        vocab_size_ == 0 || shard.record.largest_id < vocab_size_,
        fmt::format(
            "{} holds token id {} (largest_id in dataset.json), but the model's vocabulary has {} entries "
            "(ids "
            "0 to {}); train with the vocabulary size of the set's tokenizer, or encode the text with the "
            "model's tokenizer",
            shard.file.path().string(), shard.record.largest_id, vocab_size_, vocab_size_ - 1));
    all_recorded = all_recorded && shard.record.largest_id >= 0;
    largest = std::max(largest, shard.record.largest_id);
  }
  if (all_recorded) {
    recorded_largest_id_ = largest;
  }
}

std::string TokenDataset::make_fingerprint() const {
  constexpr std::size_t end_bytes = 4096;
  std::string text;
  for (const Shard& shard : shards_) {
    const auto bytes = shard.file.file().bytes();
    const std::size_t part = std::min(end_bytes, bytes.size());
    // Reading foreign shards whole would take minutes at start; both ends tell other data from the same.
    const std::string content = !shard.record.xxh3_64.empty()
                                    ? shard.record.xxh3_64
                                    : fmt::format("{:016x}{:016x}", XXH3_64bits(bytes.data(), part),
                                                  XXH3_64bits(bytes.data() + bytes.size() - part, part));
    text += fmt::format("{}\n{}\n{}\n{}\n", shard.record.file, shard.record.tokens,
                        token_type_name(shard.file.type()), content);
  }
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::int64_t TokenDataset::windows(std::int64_t seq_len) const {
  SHARDGPT_REQUIRE(seq_len >= 1, fmt::format("the sequence length is {}, wanted 1 or more", seq_len));
  return (tokens() - 1) / seq_len;
}

std::size_t TokenDataset::shard_of(std::int64_t token) const {
  const auto after = std::upper_bound(first_token_.begin(), first_token_.end(), token);
  return static_cast<std::size_t>(after - first_token_.begin()) - 1;
}

template <class Visit>
void TokenDataset::for_each_part(std::int64_t begin, std::int64_t end, Visit&& visit) const {
  if (begin < 0 || begin > end || end > tokens()) {
    throw std::out_of_range(fmt::format("tokens [{}, {}) of a stream of {}", begin, end, tokens()));
  }
  while (begin < end) {
    const std::size_t shard = shard_of(begin);
    const std::int64_t count = std::min(end, first_token_[shard + 1]) - begin;
    visit(shard, begin - first_token_[shard], count);
    begin += count;
  }
}

void TokenDataset::read_tokens(std::int64_t begin, std::span<std::int32_t> out) const {
  for_each_part(begin, begin + narrow<std::int64_t>(out.size()),
                [&](std::size_t shard, std::int64_t offset, std::int64_t count) {
                  const std::uint32_t largest =
                      shards_[shard].file.read(offset, out.first(static_cast<std::size_t>(count)));
                  if (vocab_size_ != 0 && largest >= vocab_size_) {
                    check_ids(first_token_[shard] + offset, first_token_[shard] + offset + count);
                  }
                  out = out.subspan(static_cast<std::size_t>(count));
                });
}

void TokenDataset::read_window(std::int64_t window, std::int64_t seq_len, std::span<std::int32_t> inputs,
                               std::span<std::int32_t> targets) const {
  const auto length = narrow<std::size_t>(seq_len);
  if (inputs.size() != length || targets.size() != length || window < 0 || window >= windows(seq_len)) {
    throw std::out_of_range(fmt::format("window {} of {}, length {}, into {} inputs and {} targets", window,
                                        windows(seq_len), seq_len, inputs.size(), targets.size()));
  }
  const std::int64_t begin = checked_mul(window, seq_len);
  read_tokens(begin, inputs);
  std::copy(inputs.begin() + 1, inputs.end(), targets.begin());
  read_tokens(begin + seq_len, targets.last(1));
}

std::int64_t TokenDataset::largest_id_in(std::int64_t begin, std::int64_t end) const {
  std::int64_t largest = -1;
  for_each_part(begin, end, [&](std::size_t shard, std::int64_t offset, std::int64_t count) {
    largest = std::max(largest, shards_[shard].file.largest_id(offset, count));
  });
  return largest;
}

void TokenDataset::check_ids(std::int64_t begin, std::int64_t end) const {
  if (vocab_size_ == 0) {
    return;
  }
  for_each_part(begin, end, [&](std::size_t shard, std::int64_t offset, std::int64_t count) {
    const std::int64_t bad = shards_[shard].file.find_id_from(vocab_size_, offset, count);
    if (bad >= 0) {
      throw_bad_id(shard, bad);
    }
  });
}

std::int64_t TokenDataset::payload_bytes() const {
  return tokens() * token_bytes(shards_.front().file.type());
}

void TokenDataset::throw_bad_id(std::size_t shard, std::int64_t offset) const {
  const ShardFile& file = shards_[shard].file;
  std::int32_t id = 0;
  file.read(offset, std::span(&id, 1));
  throw InputError(fmt::format(
      "{}: token {} of the shard (byte {}) has id {}, outside the model's vocabulary of {} entries (ids 0 "
      "to {}); the shard was made with another tokenizer, or is damaged",
      file.path().string(), offset, shard_file_bytes(file.type(), offset), static_cast<std::uint32_t>(id),
      vocab_size_, vocab_size_ - 1));
}

void TokenDataset::advise(AccessPattern pattern) const {
  const bool small = payload_bytes() <= read_ahead_whole_bytes;
  for (const Shard& shard : shards_) {
    shard.file.file().advise(small ? AccessPattern::all_soon : pattern);
  }
}

}  // namespace shardgpt
