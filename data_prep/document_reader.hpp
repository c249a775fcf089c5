#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data_prep/input_file.hpp"
#include "data_prep/splitter.hpp"
#include "tokens/dataset_manifest.hpp"

namespace shardgpt {

/// What one document of a text file is. A JSONL line is always one.
enum class DocumentPolicy { file, line };

/// A run of bytes of one document within a TextBlock.
struct TextPart {
  std::size_t begin = 0;
  std::size_t size = 0;
  std::int64_t document = 0;  ///< number of the document over all inputs
  bool ends_document = true;  ///< false: the document goes on in a later part, at a place that cuts no piece
  InputFormat format = InputFormat::text;
  std::size_t source = 0;  ///< index of the input
  std::int64_t line = 0;   ///< 1-based, for messages on JSONL
};

/// About a mebibyte of input, to be worked on by one thread. A JSONL part is the line as it stands.
struct TextBlock {
  std::string bytes;
  std::vector<TextPart> parts;

  [[nodiscard]] std::string_view text(const TextPart& part) const {
    return std::string_view(bytes).substr(part.begin, part.size);
  }
};

/// Cuts inputs into documents, and long documents into parts that can be encoded apart with the same ids.
class DocumentReader {
 public:
  /// Checks all inputs, so that a missing or packed one is found before any work.
  DocumentReader(const std::vector<std::string>& files, InputFormat format, DocumentPolicy policy);

  /// Reads everything; `consume` gets the blocks in order. Warns of inputs without content.
  void read(const std::function<void(TextBlock)>& consume);

  /// The inputs, with the bytes read so far. Names and formats stay as they are while reading.
  [[nodiscard]] const std::vector<SourceRecord>& sources() const { return sources_; }

 private:
  void read_text(InputFile& input, std::size_t source);
  void read_lines(InputFile& input, std::size_t source);
  void add_line(std::string_view line, InputFormat format, std::size_t source, std::int64_t number);
  void add_part(std::string_view text, TextPart part);
  void flush();

  std::vector<SourceRecord> sources_;
  DocumentPolicy policy_;
  Splitter splitter_;
  const std::function<void(TextBlock)>* consume_ = nullptr;
  TextBlock block_;
  std::int64_t next_document_ = 0;
};

}  // namespace shardgpt
