#include "data_prep/part_cutter.hpp"

#include <utility>

namespace shardgpt {

PartCutter::PartCutter(std::size_t block_bytes, Detokenize detokenize, std::function<void(TextBlock)> consume)
    : block_bytes_(block_bytes), detokenize_(detokenize), consume_(std::move(consume)) {}

void PartCutter::add_text(std::string_view text) {
  if (detokenize_ == Detokenize::none) {
    pending_ += text;
  } else {
    detokenizer_.add(text, pending_);
  }
  if (pending_.size() - searched_ >= block_bytes_) {
    cut();
  }
}

void PartCutter::cut() {
  const std::size_t end = splitter_.last_safe_cut(pending_, searched_);
  if (end != 0) {
    add_part(std::string_view(pending_).substr(0, end),
             {.document = next_document_, .ends_document = false, .source = source_});
    pending_.erase(0, end);
  }
  // The next cut is looked for in what comes after; it looks at the character before that, too.
  searched_ = pending_.size();
}

void PartCutter::end_document() {
  if (detokenize_ != Detokenize::none) {
    detokenizer_.finish(pending_);
  }
  // A cut leaves at least one character, so a document with any text has some here.
  if (!pending_.empty()) {
    add_part(pending_, {.document = next_document_++, .source = source_});
  }
  pending_.clear();
  searched_ = 0;
}

void PartCutter::add_json_line(std::string_view line, std::int64_t number) {
  add_part(line,
           {.document = next_document_++, .format = InputFormat::jsonl, .source = source_, .line = number});
}

void PartCutter::add_part(std::string_view text, TextPart part) {
  part.begin = block_.bytes.size();
  part.size = text.size();
  block_.bytes += text;
  block_.parts.push_back(part);
  if (block_.bytes.size() >= block_bytes_) {
    flush();
  }
}

void PartCutter::flush() {
  if (!block_.parts.empty()) {
    consume_(std::exchange(block_, {}));
  }
}

}  // namespace shardgpt
