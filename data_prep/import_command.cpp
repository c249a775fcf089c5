#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/atomic_file.hpp"
#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "data_prep/bpe_model.hpp"
#include "data_prep/commands.hpp"
#include "data_prep/integer_file.hpp"
#include "data_prep/megatron_index.hpp"
#include "data_prep/progress_meter.hpp"
#include "tokens/dataset_writer.hpp"
#include "tokens/shard_file.hpp"

namespace shardgpt {
namespace {

constexpr std::int64_t ids_at_once = std::int64_t{1} << 18;

/// What is known of the ids that come in.
struct Vocabulary {
  std::int64_t size = 0;
  std::optional<std::int64_t> end_of_text_id;
  std::string hash;  ///< empty: only the size is known
  std::vector<CompanionFile> files;
};

Vocabulary known_vocabulary(const ImportOptions& options) {
  SHARDGPT_REQUIRE(options.vocab.empty() == options.merges.empty(),
                   "pass --vocab and --merges together, or none of them");
  Vocabulary vocabulary;
  if (options.vocab.empty()) {
    vocabulary.size = options.vocab_size;
  } else {
    const std::string vocab_json = read_text_file(options.vocab);
    const std::string merges_text = read_text_file(options.merges);
    const BpeModel model = BpeModel::parse(vocab_json, options.vocab, merges_text, options.merges);
    vocabulary.size = model.vocab_size();
    vocabulary.hash = model.hash();
    vocabulary.end_of_text_id = model.find(options.end_of_text);
    vocabulary.files = {{"vocab.json", vocab_json}, {"merges.txt", merges_text}};
    SHARDGPT_REQUIRE(options.vocab_size == 0 || options.vocab_size == vocabulary.size,
                     fmt::format("--vocab-size is {}, but {} has {} entries", options.vocab_size,
                                 options.vocab, vocabulary.size));
  }
  SHARDGPT_REQUIRE(vocabulary.size > 0,
                   "whose ids are these? Pass the tokenizer's --vocab and --merges, or at least --vocab-size "
                   "(GPT-2: 50257)");
  SHARDGPT_REQUIRE(options.end_of_text_id < vocabulary.size,
                   fmt::format("--end-of-text-id is {}, outside the vocabulary of {} entries",
                               options.end_of_text_id, vocabulary.size));
  if (options.end_of_text_id >= 0) {
    vocabulary.end_of_text_id = options.end_of_text_id;
  }
  return vocabulary;
}

/// Where the ids go, with what is to be recorded of them.
class Import {
 public:
  Import(const ImportOptions& options, Vocabulary vocabulary, const std::vector<SourceRecord>& sources)
      : vocabulary_(std::move(vocabulary)),
        writer_(options.output, options.name, token_type_for(vocabulary_.size), options.shard_tokens,
                options.overwrite ? DatasetWriter::Existing::replace : DatasetWriter::Existing::refuse),
        progress_(progress_option(options.progress)) {
    for (const SourceRecord& source : sources) {
      total_bytes_ += source.bytes;
    }
  }

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }
  [[nodiscard]] bool ends_in_end_of_text() const {
    return last_ && vocabulary_.end_of_text_id && *last_ == *vocabulary_.end_of_text_id;
  }
  void add(std::span<const std::int32_t> ids, std::int64_t file_bytes) {
    writer_.append(ids);
    if (!ids.empty()) {
      last_ = ids.back();
    }
    if (vocabulary_.end_of_text_id) {
      ends_ += std::count(ids.begin(), ids.end(), *vocabulary_.end_of_text_id);
    }
    done_bytes_ += file_bytes;
    progress_.add(
        file_bytes, narrow<std::int64_t>(ids.size()),
        static_cast<double>(done_bytes_) / static_cast<double>(std::max<std::int64_t>(1, total_bytes_)));
  }
  /// `documents`: where the source counts them; else end-of-text ids are counted.
  void finish(const ImportOptions& options, std::vector<SourceRecord> sources,
              std::optional<std::int64_t> documents, std::ostream& out) {
    progress_.finish();
    DatasetManifest manifest;
    manifest.tokenizer.hash = vocabulary_.hash;
    manifest.tokenizer.vocab_size = vocabulary_.size;
    manifest.tokenizer.end_of_text_id = vocabulary_.end_of_text_id;
    if (!vocabulary_.files.empty()) {
      manifest.tokenizer.vocab_file = vocabulary_.files[0].name;
      manifest.tokenizer.merges_file = vocabulary_.files[1].name;
    }
    manifest.document_policy = "imported";
    manifest.end_of_text_appended = ends_in_end_of_text();
    manifest.documents = documents.value_or(ends_);
    manifest.sources = std::move(sources);
    manifest = writer_.finish(std::move(manifest), vocabulary_.files);
    out << fmt::format("{}: {} tokens, {} document(s), {} shard(s), {} ids\n", options.output,
                       manifest.tokens(), manifest.documents, manifest.shards.size(),
                       token_type_name(manifest.token_type));
  }

 private:
  Vocabulary vocabulary_;
  DatasetWriter writer_;
  ProgressMeter progress_;
  std::int64_t total_bytes_ = 0;
  std::int64_t done_bytes_ = 0;
  std::optional<std::int32_t> last_;
  std::int64_t ends_ = 0;
};

void import_flat(const ImportOptions& options, std::ostream& out) {
  std::vector<SourceRecord> sources;
  for (const std::string& file : options.files) {
    const IntegerFile checked(file, IntegerFile::Type::u16);
    sources.push_back({file, options.from, checked.size() * 2});
  }
  Import import(options, known_vocabulary(options), sources);
  std::vector<std::int32_t> ids;
  for (const std::string& name : options.files) {
    IntegerFile file(name, IntegerFile::Type::u16);
    for (std::int64_t begin = 0; begin < file.size(); begin += ids_at_once) {
      ids.resize(narrow<std::size_t>(std::min(ids_at_once, file.size() - begin)));
      file.read(begin, ids, import.vocabulary().size);
      import.add(ids, narrow<std::int64_t>(ids.size()) * 2);
    }
  }
  import.finish(options, std::move(sources), std::nullopt, out);
}

void import_llmc(const ImportOptions& options, std::ostream& out) {
  std::vector<SourceRecord> sources;
  for (const std::string& file : options.files) {
    const ShardFile checked(file, WideIds::accept);
    sources.push_back({file, options.from, shard_file_bytes(checked.type(), checked.tokens())});
  }
  Import import(options, known_vocabulary(options), sources);
  std::vector<std::int32_t> ids;
  for (const std::string& name : options.files) {
    const ShardFile file(name, WideIds::accept);
    if (const std::int64_t at = file.find_id_from(import.vocabulary().size, 0, file.tokens()); at >= 0) {
      throw InputError(fmt::format("{}: token {} is outside the vocabulary of {} entries", name, at,
                                   import.vocabulary().size));
    }
    for (std::int64_t begin = 0; begin < file.tokens(); begin += ids_at_once) {
      ids.resize(narrow<std::size_t>(std::min(ids_at_once, file.tokens() - begin)));
      static_cast<void>(file.read(begin, ids));
      import.add(ids, narrow<std::int64_t>(ids.size()) * token_bytes(file.type()));
    }
  }
  import.finish(options, std::move(sources), std::nullopt, out);
}

/// NAME.bin and NAME.idx of a data set that is named by any of the two or without an ending.
struct MegatronSet {
  std::filesystem::path bin;
  std::filesystem::path idx;

  explicit MegatronSet(const std::string& name) {
    const bool has_ending = name.ends_with(".bin") || name.ends_with(".idx");
    const std::string stem = has_ending ? name.substr(0, name.size() - 4) : name;
    bin = stem + ".bin";
    idx = stem + ".idx";
  }
  [[nodiscard]] MegatronIndex index() const {
    std::error_code failure;
    const std::uintmax_t bytes = std::filesystem::file_size(bin, failure);
    SHARDGPT_REQUIRE(!failure, "cannot open " + bin.string() + ": " + failure.message());
    return read_megatron_index(idx, narrow<std::int64_t>(bytes));
  }
};

/// Adds one set; returns how many of its documents hold tokens.
std::int64_t import_megatron_set(const MegatronSet& set, bool append_end, Import& import) {
  const MegatronIndex index = set.index();
  IntegerFile file(set.bin, index.type);
  const std::int64_t each = IntegerFile::bytes_of(index.type);
  std::vector<std::int32_t> ids;
  std::int64_t documents = 0;
  for (std::size_t document = 0; document + 1 < index.documents.size(); ++document) {
    std::int64_t tokens = 0;
    for (auto sequence = narrow<std::size_t>(index.documents[document]);
         sequence < narrow<std::size_t>(index.documents[document + 1]); ++sequence) {
      const std::int64_t first = index.offsets[sequence] / each;
      const std::int64_t end = first + index.lengths[sequence];
      for (std::int64_t begin = first; begin < end; begin += ids_at_once) {
        ids.resize(narrow<std::size_t>(std::min(ids_at_once, end - begin)));
        file.read(begin, ids, import.vocabulary().size);
        import.add(ids, narrow<std::int64_t>(ids.size()) * each);
      }
      tokens += end - first;
    }
    documents += tokens > 0 ? 1 : 0;
    if (tokens > 0 && append_end && !import.ends_in_end_of_text()) {
      const auto id = narrow<std::int32_t>(*import.vocabulary().end_of_text_id);
      import.add({&id, 1}, 0);
    }
  }
  return documents;
}

void import_megatron(const ImportOptions& options, std::ostream& out) {
  std::vector<SourceRecord> sources;
  for (const std::string& name : options.files) {
    const MegatronSet set(name);
    static_cast<void>(set.index());
    sources.push_back(
        {set.bin.string(), options.from, narrow<std::int64_t>(std::filesystem::file_size(set.bin))});
  }
  Vocabulary vocabulary = known_vocabulary(options);
  SHARDGPT_REQUIRE(
      options.no_eot || vocabulary.end_of_text_id,
      "which id ends a document? Pass --end-of-text-id (GPT-2: 50256) or the tokenizer, or --no-eot to "
      "join the documents without");
  Import import(options, std::move(vocabulary), sources);
  std::int64_t documents = 0;
  for (const std::string& name : options.files) {
    documents += import_megatron_set(MegatronSet(name), !options.no_eot, import);
  }
  import.finish(options, std::move(sources), documents, out);
}

}  // namespace

void run_import(const ImportOptions& options, std::ostream& out) {
  if (options.from == "megatron") {
    import_megatron(options, out);
  } else if (options.from == "nanogpt") {
    import_flat(options, out);
  } else {
    import_llmc(options, out);
  }
}

}  // namespace shardgpt
