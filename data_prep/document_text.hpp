#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data_prep/text_block.hpp"
#include "data_prep/wikitext_detokenizer.hpp"
#include "tokens/dataset_manifest.hpp"

namespace shardgpt {

/// The text of a part: within its block, or unpacked from a JSONL line.
class DocumentText {
 public:
  explicit DocumentText(std::string_view text) : text_(text) {}
  explicit DocumentText(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] std::string_view view() const {
    return std::visit([](const auto& text) { return std::string_view(text); }, text_);
  }

 private:
  std::variant<std::string_view, std::string> text_;
};

/// Gets the text of parts, whatever their format. Threads share it.
class PartText {
 public:
  /// `sources` must outlive this.
  PartText(const std::vector<SourceRecord>& sources, std::string jsonl_key, bool skip_bad_lines,
           Detokenize detokenize = Detokenize::none);

  /// Nothing for a malformed JSONL line where these are skipped; else such a line throws InputError naming
  /// file and line.
  [[nodiscard]] std::optional<DocumentText> operator()(const TextBlock& block, const TextPart& part) const;

 private:
  const std::vector<SourceRecord>* sources_;
  std::string jsonl_key_;
  bool skip_bad_lines_;
  Detokenize detokenize_;  ///< of JSONL; other text is ready in the block
};

}  // namespace shardgpt
