#pragma once

#include <string>
#include <string_view>

namespace shardgpt {

/// What is done to the text before it is encoded.
enum class Detokenize { none, wikitext };

[[nodiscard]] const char* detokenize_name(Detokenize detokenize);

/// Undoes the spacing of WikiText (` @-@ `, ` , `, `( x )`, …) by the rules that Megatron-LM and
/// lm-evaluation-harness use, on each line alone: quotes and brackets pair within a line. One document, in
/// pieces of any size.
class WikitextDetokenizer {
 public:
  /// Appends what is certain of the result to `out`.
  void add(std::string_view text, std::string& out);
  /// The document ends; the next one may begin.
  void finish(std::string& out);

 private:
  void add_line(std::string_view line, std::string& out);

  std::string line_;  ///< not finished
  bool first_line_ = true;
};

/// A whole document.
[[nodiscard]] std::string detokenized(std::string_view text, Detokenize detokenize);

}  // namespace shardgpt
