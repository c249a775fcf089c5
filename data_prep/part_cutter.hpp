#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "data_prep/splitter.hpp"
#include "data_prep/text_block.hpp"
#include "data_prep/wikitext_detokenizer.hpp"

namespace shardgpt {

/// Puts the text of documents into blocks, long documents cut into parts that can be encoded apart with the
/// same ids.
class PartCutter {
 public:
  PartCutter(std::size_t block_bytes, Detokenize detokenize, std::function<void(TextBlock)> consume);

  /// What follows comes from input number `source`.
  void begin_source(std::size_t source) { source_ = source; }
  /// More text of the document that is under way.
  void add_text(std::string_view text);
  /// Without any text, there was no document.
  void end_document();
  /// A JSONL line, which is a document of its own.
  void add_json_line(std::string_view line, std::int64_t number);
  /// Hands over the last block.
  void flush();

 private:
  void cut();
  void add_part(std::string_view text, TextPart part);

  std::size_t block_bytes_;
  Detokenize detokenize_;
  std::function<void(TextBlock)> consume_;
  Splitter splitter_;
  WikitextDetokenizer detokenizer_;
  std::string pending_;       ///< text of the document under way that is in no part yet
  std::size_t searched_ = 0;  ///< no cut in pending_ before this place
  std::size_t source_ = 0;
  std::int64_t next_document_ = 0;
  TextBlock block_;
};

}  // namespace shardgpt
