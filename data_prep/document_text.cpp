#include "data_prep/document_text.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "data_prep/jsonl.hpp"

namespace shardgpt {

PartText::PartText(const std::vector<SourceRecord>& sources, std::string jsonl_key, bool skip_bad_lines,
                   Detokenize detokenize)
    : sources_(&sources),
      jsonl_key_(std::move(jsonl_key)),
      skip_bad_lines_(skip_bad_lines),
      detokenize_(detokenize) {}

std::optional<DocumentText> PartText::operator()(const TextBlock& block, const TextPart& part) const {
  if (part.format != InputFormat::jsonl) {
    return DocumentText(block.text(part));
  }
  try {
    std::string text = text_of_json_line(block.text(part), jsonl_key_);
    return DocumentText(detokenize_ == Detokenize::none ? std::move(text) : detokenized(text, detokenize_));
  } catch (const InputError& error) {
    if (skip_bad_lines_) {
      return std::nullopt;  // counted and reported by the caller
    }
    throw InputError(fmt::format("{}:{}: {}; correct the line, or pass --skip-bad-lines",
                                 (*sources_)[part.source].file, part.line, error.what()));
  }
}

}  // namespace shardgpt
