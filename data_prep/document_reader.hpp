#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data_prep/document_boundary.hpp"
#include "data_prep/input_file.hpp"
#include "data_prep/part_cutter.hpp"
#include "data_prep/text_block.hpp"
#include "data_prep/wikitext_detokenizer.hpp"
#include "tokens/dataset_manifest.hpp"

namespace shardgpt {

struct ReaderOptions {
  InputFormat format = InputFormat::automatic;
  DocumentPolicy document = DocumentPolicy::file;
  std::string separator{};           ///< for DocumentPolicy::separator
  std::string text_column = "text";  ///< of Parquet files
  Detokenize detokenize = Detokenize::none;
  std::size_t block_bytes = std::size_t{1} << 17U;  ///< the result does not depend on it
};

/// Cuts inputs into documents, and long documents into parts that can be encoded apart with the same ids. In
/// memory are a few blocks, a JSONL line, and what is between two places where a text may be cut.
class DocumentReader {
 public:
  /// Checks all inputs, so that a missing or unreadable one is found before any work. Folders stand for the
  /// files in them.
  DocumentReader(const std::vector<std::string>& files, ReaderOptions options);

  /// Reads everything; `consume` gets the blocks in order. Warns of inputs without content.
  void read(const std::function<void(TextBlock)>& consume);

  /// The inputs, with the bytes read so far. Names and formats stay as they are while reading.
  [[nodiscard]] const std::vector<SourceRecord>& sources() const { return sources_; }
  /// How much of the inputs, as they lie on disk, has been read: 0 to 1. Nothing where one of them is a pipe.
  [[nodiscard]] std::optional<double> fraction_read() const;
  /// Rows of Parquet files without a value.
  [[nodiscard]] std::int64_t null_rows() const { return null_rows_; }

 private:
  class Stream;
  void check_input(const std::string& file);
  void read_text(InputFile& input, PartCutter& cutter);
  void read_json_lines(InputFile& input, PartCutter& cutter);
  void read_rows(SourceRecord& record, PartCutter& cutter);

  ReaderOptions options_;
  std::vector<SourceRecord> sources_;
  std::vector<InputFormat> formats_;  ///< [sources]
  std::optional<std::int64_t> total_file_bytes_ = 0;
  std::int64_t file_bytes_before_ = 0;  ///< of the inputs that are finished
  std::int64_t file_bytes_now_ = 0;     ///< of the input that is being read
  std::int64_t null_rows_ = 0;
};

}  // namespace shardgpt
