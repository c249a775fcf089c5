#include <algorithm>
#include <ostream>
#include <vector>

#include <fmt/format.h>

#include "data_prep/commands.hpp"
#include "tokens/token_dataset.hpp"

namespace shardgpt {
namespace {

void print_manifest(const DatasetManifest& manifest, std::ostream& out) {
  out << fmt::format("documents           {} (policy {}, end-of-text {})\n", manifest.documents,
                     manifest.document_policy, manifest.end_of_text_appended ? "appended" : "not appended");
  out << fmt::format(
      "vocabulary          {} entries, end-of-text id {}, tokenizer hash {}\n", manifest.tokenizer.vocab_size,
      manifest.tokenizer.end_of_text_id ? std::to_string(*manifest.tokenizer.end_of_text_id) : "none",
      manifest.tokenizer.hash);
  out << fmt::format("markers in the text {} ({})\n", manifest.special_in_text,
                     manifest.special_parsed ? "parsed" : "ordinary text");
  out << fmt::format("invalid UTF-8 bytes {}\n", manifest.invalid_utf8_bytes);
  for (const SourceRecord& source : manifest.sources) {
    out << fmt::format("source              {} ({}, {} bytes)\n", source.file, source.format, source.bytes);
  }
}

void print_start(const TokenDataset& dataset, std::ostream& out) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min<std::int64_t>(dataset.tokens(), 20)));
  dataset.read_tokens(0, ids);
  out << fmt::format("first ids           {}\n", fmt::join(ids, " "));
}

}  // namespace

void run_inspect(const InspectOptions& options, std::ostream& out) {
  const TokenDataset dataset = TokenDataset::open(options.location, /*vocab_size=*/0);
  const std::int64_t largest =
      dataset.recorded_largest_id().value_or(dataset.largest_id_in(0, dataset.tokens()));
  out << fmt::format("location            {}\n", options.location);
  out << fmt::format("tokens              {} ({} ids, largest {})\n", dataset.tokens(),
                     token_type_name(dataset.shards().front().file.type()), largest);
  out << fmt::format("fingerprint         {}\n", dataset.fingerprint());
  if (dataset.manifest()) {
    print_manifest(*dataset.manifest(), out);
  }
  print_start(dataset, out);
  for (const TokenDataset::Shard& shard : dataset.shards()) {
    out << fmt::format("shard               {} {} tokens, {} bytes{}{}\n", shard.record.file,
                       shard.record.tokens, shard.record.bytes,
                       shard.record.xxh3_64.empty() ? "" : ", XXH3-64 ", shard.record.xxh3_64);
  }
}

}  // namespace shardgpt
