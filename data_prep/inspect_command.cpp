#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/checked.hpp"
#include "core/error.hpp"
#include "data_prep/bpe_model.hpp"
#include "data_prep/commands.hpp"
#include "data_prep/unicode.hpp"
#include "tokens/token_dataset.hpp"

namespace shardgpt {
namespace {

constexpr std::int64_t ids_at_once = std::int64_t{1} << 18;
constexpr std::size_t no_id = static_cast<std::size_t>(-1);

void print_manifest(const DatasetManifest& manifest, std::ostream& out) {
  out << fmt::format("documents           {} (policy {}, end-of-text {})\n", manifest.documents,
                     manifest.document_policy, manifest.end_of_text_appended ? "appended" : "not appended");
  if (manifest.detokenize != "none") {
    out << fmt::format("de-tokenized        {}\n", manifest.detokenize);
  }
  out << fmt::format(
      "vocabulary          {} entries, end-of-text id {}, tokenizer hash {}\n", manifest.tokenizer.vocab_size,
      manifest.tokenizer.end_of_text_id ? std::to_string(*manifest.tokenizer.end_of_text_id) : "none",
      manifest.tokenizer.hash.empty() ? "unknown" : manifest.tokenizer.hash);
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

void print_shards(const TokenDataset& dataset, std::ostream& out) {
  std::size_t width = 4;
  for (const TokenDataset::Shard& shard : dataset.shards()) {
    width = std::max(width, shard.record.file.size());
  }
  out << fmt::format("\n{:{}} {:>13} {:>14} {:>10} {}\n", "shard", width, "tokens", "bytes", "largest id",
                     "XXH3-64");
  for (const TokenDataset::Shard& shard : dataset.shards()) {
    out << fmt::format("{:{}} {:>13} {:>14} {:>10} {}\n", shard.record.file, width, shard.record.tokens,
                       shard.record.bytes,
                       shard.record.largest_id < 0 ? "-" : std::to_string(shard.record.largest_id),
                       shard.record.xxh3_64.empty() ? "-" : shard.record.xxh3_64);
  }
}

/// The tokenizer that the ids are of, where it is known.
std::optional<BpeModel> model_of(const InspectOptions& options, const TokenDataset& dataset) {
  SHARDGPT_REQUIRE(options.vocab.empty() == options.merges.empty(),
                   "pass --vocab and --merges together, or none of them");
  if (!options.vocab.empty()) {
    return BpeModel::load(options.vocab, options.merges);
  }
  if (!dataset.manifest() || dataset.manifest()->tokenizer.vocab_file.empty()) {
    return std::nullopt;
  }
  const TokenizerRecord& tokenizer = dataset.manifest()->tokenizer;
  const std::filesystem::path folder = options.location;
  return BpeModel::load(folder / tokenizer.vocab_file, folder / tokenizer.merges_file);
}

std::vector<std::int64_t> count_ids(const TokenDataset& dataset, std::int64_t largest) {
  constexpr std::int64_t most_ids = 100'000'000;  // beyond, these are no ids of a tokenizer
  SHARDGPT_REQUIRE(largest < most_ids,
                   fmt::format("the largest id is {}: too many to count (--quick does not)", largest));
  std::vector<std::int64_t> counts(narrow<std::size_t>(largest + 1));
  std::vector<std::int32_t> ids;
  for (std::int64_t begin = 0; begin < dataset.tokens(); begin += ids_at_once) {
    ids.resize(narrow<std::size_t>(std::min(ids_at_once, dataset.tokens() - begin)));
    dataset.read_tokens(begin, ids);
    for (const std::int32_t id : ids) {
      ++counts[static_cast<std::size_t>(id)];
    }
  }
  return counts;
}

/// The token in quotes, with \n and the like, and \x.. for bytes that are no characters of their own.
std::string shown_token(std::string_view bytes) {
  std::string text = "'";
  for (std::size_t at = 0; at < bytes.size();) {
    const DecodedChar decoded = decode_utf8(bytes, at);
    const auto byte = static_cast<unsigned char>(bytes[at]);
    if (byte == '\n') {
      text += "\\n";
    } else if (byte == '\\' || byte == '\'') {
      text += fmt::format("\\{}", bytes[at]);
    } else if (decoded.bytes == 0 || byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += bytes.substr(at, decoded.bytes);
    }
    at += std::max(1U, decoded.bytes);
  }
  return text + "'";
}

/// Bytes of text per token, end-of-text tokens left out of both.
void print_bytes_per_token(std::span<const std::int64_t> counts, const BpeModel& model, std::size_t end_id,
                           std::ostream& out) {
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;
  for (std::size_t id = 0; id < counts.size(); ++id) {
    if (id != end_id && narrow<std::int64_t>(id) < model.vocab_size()) {
      tokens += counts[id];
      bytes += counts[id] * narrow<std::int64_t>(model.bytes_of(narrow<std::int32_t>(id)).size());
    }
  }
  if (tokens > 0) {
    out << fmt::format("bytes per token     {:.3f} ({} bytes of text, {} tokens without end-of-text)\n",
                       static_cast<double>(bytes) / static_cast<double>(tokens), bytes, tokens);
  }
}

void print_counts(const InspectOptions& options, const TokenDataset& dataset, std::int64_t largest,
                  std::ostream& out) {
  const std::vector<std::int64_t> counts = count_ids(dataset, largest);
  const std::optional<BpeModel> model = model_of(options, dataset);
  out << fmt::format("distinct ids        {}{}\n",
                     counts.size() - narrow<std::size_t>(std::count(counts.begin(), counts.end(), 0)),
                     model ? fmt::format(" of {}", model->vocab_size()) : "");
  if (model) {
    const auto end_id = dataset.manifest() ? dataset.manifest()->tokenizer.end_of_text_id : std::nullopt;
    print_bytes_per_token(counts, *model, end_id ? narrow<std::size_t>(*end_id) : no_id, out);
  }
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t shown = std::min(narrow<std::size_t>(options.top), order.size());
  std::partial_sort(
      order.begin(), order.begin() + narrow<std::ptrdiff_t>(shown), order.end(),
      [&](std::size_t a, std::size_t b) { return counts[a] != counts[b] ? counts[a] > counts[b] : a < b; });
  out << fmt::format("\n{:>10} {:>13} {:>8}  {}\n", "id", "count", "share", "text");
  for (std::size_t i = 0; i < shown && counts[order[i]] > 0; ++i) {
    const std::size_t id = order[i];
    std::string text = "-";
    if (model) {
      text = narrow<std::int64_t>(id) < model->vocab_size()
                 ? shown_token(model->bytes_of(narrow<std::int32_t>(id)))
                 : "outside the vocabulary";
    }
    out << fmt::format("{:>10} {:>13} {:>6.2f} %  {}\n", id, counts[id],
                       100.0 * static_cast<double>(counts[id]) / static_cast<double>(dataset.tokens()), text);
  }
}

}  // namespace

void run_inspect(const InspectOptions& options, std::ostream& out) {
  const TokenDataset dataset = TokenDataset::open(options.location, /*vocab_size=*/0);
  const std::int64_t largest =
      dataset.recorded_largest_id().value_or(dataset.largest_id_in(0, dataset.tokens()));
  out << fmt::format("location            {}\n", options.location);
  out << fmt::format("tokens              {} ({} ids, largest {}) in {} shard(s)\n", dataset.tokens(),
                     token_type_name(dataset.shards().front().file.type()), largest, dataset.shards().size());
  out << fmt::format("fingerprint         {}\n", dataset.fingerprint());
  if (dataset.manifest()) {
    print_manifest(*dataset.manifest(), out);
  }
  print_start(dataset, out);
  if (!options.quick) {
    // The ids themselves are looked at, so what dataset.json says of the largest one is not trusted.
    print_counts(options, dataset, dataset.largest_id_in(0, dataset.tokens()), out);
  }
  print_shards(dataset, out);
}

}  // namespace shardgpt
