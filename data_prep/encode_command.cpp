#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/atomic_file.hpp"
#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "data_prep/bpe_model.hpp"
#include "data_prep/commands.hpp"
#include "data_prep/document_reader.hpp"
#include "data_prep/document_text.hpp"
#include "data_prep/ordered_pool.hpp"
#include "data_prep/progress_meter.hpp"
#include "data_prep/text_encoder.hpp"
#include "tokens/dataset_writer.hpp"

namespace shardgpt {
namespace {

constexpr const char* vocab_copy = "vocab.json";
constexpr const char* merges_copy = "merges.txt";

/// The documents' ids that go into one set, from one block or in total.
struct SetPart {
  std::vector<std::int32_t> ids;
  std::int64_t documents = 0;
  TextCounts counts;
};

struct EncodedBlock {
  std::array<SetPart, 2> sets;  ///< training, validation
  std::int64_t bytes = 0;
  std::int64_t empty_documents = 0;
  std::int64_t skipped_lines = 0;
};

/// Spreads validation documents evenly: of the first n documents ⌊n·fraction⌋ are for validation.
class ValidationSplit {
 public:
  explicit ValidationSplit(double fraction) : numerator_(std::llround(fraction * denominator)) {}
  [[nodiscard]] std::size_t set_of(std::int64_t document) const {
    return before(document + 1) > before(document) ? 1 : 0;
  }

 private:
  static constexpr std::int64_t denominator = 1'000'000'000;  // a power of ten, so that 0.1 of 100 is 10
  [[nodiscard]] std::int64_t before(std::int64_t documents) const {
    return checked_mul(documents, numerator_) / denominator;
  }
  std::int64_t numerator_;
};

/// Encodes blocks; used by all threads, each with an encoder of its own.
class BlockEncoder {
 public:
  BlockEncoder(const EncodeOptions& options, const BpeModel& model, const DocumentReader& reader)
      : text_of_(reader.sources(), options.jsonl_key, options.skip_bad_lines,
                 detokenize_option(options.detokenize)),
        split_(options.val_fraction) {
    if (options.document != "none" && !options.no_eot) {
      end_of_text_id_ = model.find(options.end_of_text);
      SHARDGPT_REQUIRE(end_of_text_id_.has_value(),
                       options.vocab + " has no token '" + options.end_of_text +
                           "' to end documents with; name its token with --end-of-text, or pass --no-eot");
    }
  }

  [[nodiscard]] bool appends_end_of_text() const { return end_of_text_id_.has_value(); }

  [[nodiscard]] EncodedBlock encode(TextEncoder& encoder, const TextBlock& block) const {
    EncodedBlock result;
    result.bytes = narrow<std::int64_t>(block.bytes.size());
    for (const TextPart& part : block.parts) {
      SetPart& set = result.sets[split_.set_of(part.document)];
      const std::optional<DocumentText> text = text_of_(block, part);
      if (!text) {
        ++result.skipped_lines;
        continue;
      }
      if (text->view().empty()) {
        ++result.empty_documents;
        continue;
      }
      encoder.encode(text->view(), set.ids, set.counts);
      if (part.ends_document) {
        ++set.documents;
        if (end_of_text_id_) {
          set.ids.push_back(*end_of_text_id_);
        }
      }
    }
    return result;
  }

 private:
  PartText text_of_;
  ValidationSplit split_;
  std::optional<std::int32_t> end_of_text_id_;
};

/// One output set: its writer and what has gone into it.
struct OutputSet {
  std::filesystem::path folder;
  std::unique_ptr<DatasetWriter> writer;
  SetPart total;  ///< counts only, no ids

  void add(const SetPart& part) {
    writer->append(part.ids);
    total.documents += part.documents;
    total.counts += part.counts;
  }
};

std::vector<OutputSet> open_sets(const EncodeOptions& options, TokenType type) {
  const std::filesystem::path folder = options.output;
  const auto existing =
      options.overwrite ? DatasetWriter::Existing::replace : DatasetWriter::Existing::refuse;
  std::vector<OutputSet> sets;
  const std::vector<std::filesystem::path> folders =
      options.val_fraction > 0 ? std::vector{folder / "train", folder / "val"} : std::vector{folder};
  for (const std::filesystem::path& path : folders) {
    sets.push_back({path,
                    std::make_unique<DatasetWriter>(path, options.name, type, options.shard_tokens, existing),
                    {}});
  }
  return sets;
}

void publish_set(OutputSet& set, DatasetManifest manifest, std::span<const CompanionFile> companions,
                 std::ostream& out) {
  manifest.documents = set.total.documents;
  manifest.special_in_text = set.total.counts.special_in_text;
  manifest.invalid_utf8_bytes = set.total.counts.invalid_utf8_bytes;
  manifest = set.writer->publish(std::move(manifest), companions);
  out << fmt::format("{}: {} tokens, {} document(s), {} shard(s), {} ids\n", set.folder.string(),
                     manifest.tokens(), manifest.documents, manifest.shards.size(),
                     token_type_name(manifest.token_type));
  if (manifest.tokens() == 0) {
    log_warning(set.folder.string() + " holds no tokens: nothing can be trained on it");
  }
}

void report(const EncodeOptions& options, const std::vector<OutputSet>& sets, const EncodedBlock& totals,
            std::int64_t null_rows, const ProgressMeter& progress, std::ostream& out) {
  TextCounts counts;
  for (const OutputSet& set : sets) {
    counts += set.total.counts;
  }
  out << fmt::format("{} '{}' marker(s) in the text, {}\n", counts.special_in_text, options.end_of_text,
                     options.parse_special ? "turned into its id (--parse-special)"
                                           : "kept as ordinary text (--parse-special changes that)");
  out << fmt::format("{} byte(s) that are no UTF-8, kept as they are\n", counts.invalid_utf8_bytes);
  if (totals.empty_documents > 0) {
    out << fmt::format("{} empty document(s), which give no tokens\n", totals.empty_documents);
  }
  if (null_rows > 0) {
    out << fmt::format("{} row(s) without a value (null), skipped\n", null_rows);
  }
  if (totals.skipped_lines > 0) {
    log_warning(fmt::format("{} malformed JSONL line(s) skipped", totals.skipped_lines));
  }
  out << fmt::format("{:.1f} MB of text in {:.2f} s, {:.1f} MB/s\n", progress.megabytes(), progress.seconds(),
                     progress.megabytes() / progress.seconds());
}

}  // namespace

void run_encode(const EncodeOptions& options, std::ostream& out) {
  const std::string vocab_json = read_text_file(options.vocab);
  const std::string merges_text = read_text_file(options.merges);
  const BpeModel model = BpeModel::parse(vocab_json, options.vocab, merges_text, options.merges);
  DocumentReader reader(options.files, reader_options(options));
  const BlockEncoder block_encoder(options, model, reader);
  std::vector<OutputSet> sets = open_sets(options, token_type_for(model.vocab_size()));

  ProgressMeter progress(progress_option(options.progress));
  EncodedBlock totals;
  OrderedPool<TextEncoder, TextBlock, EncodedBlock> pool(
      worker_threads(options.threads),
      [&] {
        return std::make_unique<TextEncoder>(
            model, options.end_of_text, options.parse_special ? SpecialText::parsed : SpecialText::ordinary);
      },
      [&](TextEncoder& encoder, TextBlock block) { return block_encoder.encode(encoder, block); },
      [&](const EncodedBlock& block) {
        for (std::size_t i = 0; i < sets.size(); ++i) {
          sets[i].add(block.sets[i]);
        }
        totals.empty_documents += block.empty_documents;
        totals.skipped_lines += block.skipped_lines;
        progress.add(block.bytes, narrow<std::int64_t>(block.sets[0].ids.size() + block.sets[1].ids.size()),
                     reader.fraction_read());
      });
  reader.read([&](TextBlock block) { pool.push(std::move(block)); });
  pool.finish();
  progress.finish();
  for (const SourceRecord& source : reader.sources()) {
    if (source.bytes == 0) {
      log_warning(source.file + " holds no text");
    }
  }

  SHARDGPT_REQUIRE(
      sets.size() == 1 || std::min(sets[0].total.documents, sets[1].total.documents) > 0,
      fmt::format("--val-fraction {} of {} document(s) leaves one set empty; give more documents "
                  "(--document line makes one of each line) or another fraction",
                  options.val_fraction, sets[0].total.documents + sets[1].total.documents));
  DatasetManifest manifest;
  manifest.tokenizer = {model.hash(), model.vocab_size(), model.find(options.end_of_text), vocab_copy,
                        merges_copy};
  manifest.document_policy = options.document;
  manifest.separator = options.document == "separator" ? unescaped(options.separator) : "";
  manifest.detokenize = options.detokenize;
  manifest.end_of_text_appended = block_encoder.appends_end_of_text();
  manifest.special_parsed = options.parse_special;
  manifest.sources = reader.sources();
  const CompanionFile companions[] = {{vocab_copy, vocab_json}, {merges_copy, merges_text}};
  for (OutputSet& set : sets) {
    publish_set(set, manifest, companions, out);
  }
  for (OutputSet& set : sets) {
    set.writer
        ->release();  // not before all are published: a run killed in between is started over as a whole
  }
  report(options, sets, totals, reader.null_rows(), progress, out);
}

}  // namespace shardgpt
