#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/atomic_file.hpp"
#include "core/checked.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "data_prep/bpe_trainer.hpp"
#include "data_prep/commands.hpp"
#include "data_prep/document_reader.hpp"
#include "data_prep/document_text.hpp"
#include "data_prep/ordered_pool.hpp"
#include "data_prep/piece_counts.hpp"
#include "data_prep/progress_meter.hpp"
#include "data_prep/splitter.hpp"

namespace shardgpt {
namespace {

/// One thread's counts.
struct PieceCounter {
  Splitter splitter;
  PieceCounts counts;

  /// The marker ends documents and is no text to learn from.
  void add_without(const std::string& marker, std::string_view text) {
    std::size_t begin = 0;
    for (std::size_t at = text.find(marker); at != std::string_view::npos; at = text.find(marker, begin)) {
      counts.add_text(splitter, text.substr(begin, at - begin));
      begin = at + marker.size();
    }
    counts.add_text(splitter, text.substr(begin));
  }
};

PieceCounts count_pieces(const TrainBpeOptions& options) {
  DocumentReader reader(options.files, reader_options(options));
  const PartText text_of(reader.sources(), options.jsonl_key, options.skip_bad_lines);
  std::int64_t skipped_lines = 0;
  OrderedPool<PieceCounter, TextBlock, std::int64_t> pool(
      worker_threads(options.threads), [] { return std::make_unique<PieceCounter>(); },
      [&](PieceCounter& counter, const TextBlock& block) {
        std::int64_t skipped = 0;
        for (const TextPart& part : block.parts) {
          if (const auto text = text_of(block, part)) {
            counter.add_without(options.end_of_text, text->view());
          } else {
            ++skipped;
          }
        }
        return skipped;
      },
      [&](std::int64_t skipped) { skipped_lines += skipped; });
  ProgressMeter progress(progress_option(options.progress));
  reader.read([&](TextBlock block) {
    progress.add(narrow<std::int64_t>(block.bytes.size()), 0, reader.fraction_read());
    pool.push(std::move(block));
  });
  pool.finish();
  progress.finish();
  if (skipped_lines > 0) {
    log_warning(fmt::format("{} malformed JSONL line(s) skipped", skipped_lines));
  }
  PieceCounts total;
  for (const auto& counter : pool.states()) {
    total.add_all(counter->counts);
  }
  return total;
}

}  // namespace

void run_train_bpe(const TrainBpeOptions& options, std::ostream& out) {
  const std::filesystem::path folder = options.output;
  for (const char* file : {"vocab.json", "merges.txt"}) {
    SHARDGPT_REQUIRE(options.overwrite || !std::filesystem::exists(folder / file),
                     (folder / file).string() + " is already there; pass --overwrite to replace it");
  }
  const PieceCounts pieces = count_pieces(options);
  SHARDGPT_REQUIRE(pieces.size() > 0, "the input holds no text to learn from");
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  SHARDGPT_REQUIRE(!failure, "cannot create the folder " + folder.string() + ": " + failure.message());
  const TrainedBpe trained = train_bpe(pieces, options.vocab_size, options.min_count, options.end_of_text);
  write_file_atomically(folder / "vocab.json", trained.vocab_json());
  write_file_atomically(folder / "merges.txt", trained.merges_text());
  if (narrow<std::int64_t>(trained.tokens.size()) < options.vocab_size) {
    log_warning(fmt::format("the vocabulary has {} entries, not {}: no other pair occurs {} times",
                            trained.tokens.size(), options.vocab_size, options.min_count));
  }
  out << fmt::format("{}: {} entries, {} merges, learned from {} different pieces\n", folder.string(),
                     trained.tokens.size(), trained.merges.size(), pieces.size());
}

}  // namespace shardgpt
