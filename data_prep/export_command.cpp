#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/atomic_file.hpp"
#include "core/checked.hpp"
#include "core/error.hpp"
#include "data_prep/commands.hpp"
#include "data_prep/megatron_index.hpp"
#include "tokens/shard_writer.hpp"
#include "tokens/token_dataset.hpp"

namespace shardgpt {
namespace {

constexpr std::int64_t ids_at_once = std::int64_t{1} << 18;

/// A file of bare ids under a temporary name until it is published; destroyed before, it is removed.
class FlatFile {
 public:
  FlatFile(std::filesystem::path path, TokenType type)
      : path_(std::move(path)),
        temporary_(path_.string() + ".tmp"),
        type_(type),
        file_(temporary_, std::ios::binary | std::ios::trunc) {
    require_good();
  }
  FlatFile(const FlatFile&) = delete;
  FlatFile& operator=(const FlatFile&) = delete;
  ~FlatFile() {
    if (!published_) {
      std::error_code ignored;
      std::filesystem::remove(temporary_, ignored);
    }
  }
  void append(std::span<const std::int32_t> ids) {
    if (type_ == TokenType::u16) {
      narrow_ids_.assign(ids.begin(), ids.end());
      write(narrow_ids_.data(), narrow_ids_.size() * sizeof(std::uint16_t));
    } else {
      write(ids.data(), ids.size_bytes());
    }
  }
  void publish() {
    file_.close();
    require_good();
    sync_file(temporary_);
    rename_durably(temporary_, path_);
    published_ = true;
  }

 private:
  void write(const void* bytes, std::size_t size) {
    file_.write(static_cast<const char*>(bytes), narrow<std::streamsize>(size));
    require_good();
  }
  void require_good() const {
    if (!file_) {
      throw Error(fmt::format("cannot write {}: {}", temporary_.string(), std::strerror(errno)));
    }
  }

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  TokenType type_;
  std::ofstream file_;
  std::vector<std::uint16_t> narrow_ids_;
  bool published_ = false;
};

template <class Consume>
void for_each_block(const TokenDataset& dataset, Consume&& consume) {
  std::vector<std::int32_t> ids;
  for (std::int64_t begin = 0; begin < dataset.tokens(); begin += ids_at_once) {
    ids.resize(narrow<std::size_t>(std::min(ids_at_once, dataset.tokens() - begin)));
    dataset.read_tokens(begin, ids);
    consume(std::span<const std::int32_t>(ids));
  }
}

std::filesystem::path target(const ExportOptions& options, const std::string& ending) {
  return std::filesystem::path(options.output) / (options.name + ending);
}

void require_free(const ExportOptions& options, const std::filesystem::path& path) {
  SHARDGPT_REQUIRE(options.overwrite || !std::filesystem::exists(path),
                   path.string() + " is already there; pass --overwrite to replace it");
}

TokenType narrowest(const TokenDataset& dataset) {
  const std::int64_t largest =
      dataset.recorded_largest_id().value_or(dataset.largest_id_in(0, dataset.tokens()));
  return token_type_for(largest + 1);
}

void export_nanogpt(const ExportOptions& options, const TokenDataset& dataset, std::ostream& out) {
  SHARDGPT_REQUIRE(narrowest(dataset) == TokenType::u16,
                   options.source + " has ids above 65535, which nanoGPT's uint16 cannot hold");
  const std::filesystem::path path = target(options, ".bin");
  require_free(options, path);
  FlatFile file(path, TokenType::u16);
  for_each_block(dataset, [&](std::span<const std::int32_t> ids) { file.append(ids); });
  file.publish();
  out << fmt::format("{}: {} tokens, uint16 without a header\n", path.string(), dataset.tokens());
}

/// Cuts the stream behind each end-of-text id.
class DocumentCounter {
 public:
  explicit DocumentCounter(std::optional<std::int64_t> end_id) : end_id_(end_id) {}
  void add(std::span<const std::int32_t> ids) {
    for (const std::int32_t id : ids) {
      ++length_;
      if ((end_id_ && id == *end_id_)) {
        end_document();
      } else if (length_ == longest_sequence) {
        end_sequence();
      }
    }
  }
  void finish() {
    if (length_ > 0 || narrow<std::int64_t>(lengths.size()) != documents.back()) {
      end_document();
    }
  }

  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> documents{0};

 private:
  static constexpr std::int32_t longest_sequence = 1 << 30;  // the index holds int32
  void end_sequence() { lengths.push_back(std::exchange(length_, 0)); }
  void end_document() {
    if (length_ > 0) {
      end_sequence();
    }
    documents.push_back(narrow<std::int64_t>(lengths.size()));
  }
  std::optional<std::int64_t> end_id_;
  std::int32_t length_ = 0;
};

void export_megatron(const ExportOptions& options, const TokenDataset& dataset, std::ostream& out) {
  const std::filesystem::path bin = target(options, ".bin");
  const std::filesystem::path idx = target(options, ".idx");
  require_free(options, bin);
  require_free(options, idx);
  std::optional<std::int64_t> end_id;
  if (options.end_of_text_id >= 0) {
    end_id = options.end_of_text_id;
  } else if (dataset.manifest()) {
    end_id = dataset.manifest()->tokenizer.end_of_text_id;
  }
  SHARDGPT_REQUIRE(end_id || options.one_document,
                   options.source +
                       ": which id ends a document is not recorded; pass --end-of-text-id (GPT-2: "
                       "50256), or --one-document");
  const TokenType type = narrowest(dataset);
  DocumentCounter counter(options.one_document ? std::nullopt : end_id);
  FlatFile file(bin, type);
  for_each_block(dataset, [&](std::span<const std::int32_t> ids) {
    file.append(ids);
    counter.add(ids);
  });
  counter.finish();
  // The index comes last: without it the .bin file is nothing.
  std::filesystem::remove(idx);
  file.publish();
  write_file_atomically(idx, make_megatron_index(type == TokenType::u32, counter.lengths, counter.documents));
  out << fmt::format("{}, {}: {} tokens, {} document(s), {}\n", bin.string(), idx.filename().string(),
                     dataset.tokens(), counter.documents.size() - 1,
                     type == TokenType::u16 ? "uint16" : "int32");
}

void export_llmc(const ExportOptions& options, const TokenDataset& dataset, std::ostream& out) {
  const TokenType type = narrowest(dataset);
  const std::int64_t shards = std::max<std::int64_t>(1, ceil_div(dataset.tokens(), options.shard_tokens));
  const auto path_of = [&](std::int64_t shard) { return target(options, fmt::format("_{:06}.bin", shard)); };
  // llm.c takes every file that fits the pattern: one that stays from an older export would be read with
  // these.
  for (std::int64_t shard = 0; shard < shards || std::filesystem::exists(path_of(shard)); ++shard) {
    require_free(options, path_of(shard));
  }
  std::vector<std::int32_t> ids;
  for (std::int64_t shard = 0; shard < shards; ++shard) {
    ShardWriter writer(path_of(shard), type);
    const std::int64_t end = std::min(dataset.tokens(), (shard + 1) * options.shard_tokens);
    for (std::int64_t begin = shard * options.shard_tokens; begin < end; begin += ids_at_once) {
      ids.resize(narrow<std::size_t>(std::min(ids_at_once, end - begin)));
      dataset.read_tokens(begin, ids);
      writer.append(ids);
    }
    static_cast<void>(writer.finish());
    writer.publish();
  }
  for (std::int64_t shard = shards; std::filesystem::remove(path_of(shard)); ++shard) {
  }
  out << fmt::format("{}: {} tokens in {} shard(s) of llm.c's layout, {}\n", options.output, dataset.tokens(),
                     shards, token_type_name(type));
}

}  // namespace

void run_export(const ExportOptions& options, std::ostream& out) {
  const TokenDataset dataset = TokenDataset::open(options.source, /*vocab_size=*/0);
  dataset.advise(AccessPattern::sequential);
  std::error_code failure;
  std::filesystem::create_directories(options.output, failure);
  SHARDGPT_REQUIRE(!failure, "cannot create the folder " + options.output + ": " + failure.message());
  SHARDGPT_REQUIRE(!std::filesystem::exists(std::filesystem::path(options.output) / manifest_file_name),
                   options.output + " holds a token set (dataset.json); export to another folder");
  if (options.to == "megatron") {
    export_megatron(options, dataset, out);
  } else if (options.to == "nanogpt") {
    export_nanogpt(options, dataset, out);
  } else {
    export_llmc(options, dataset, out);
  }
}

}  // namespace shardgpt
