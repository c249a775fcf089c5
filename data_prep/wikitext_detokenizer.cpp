#include "data_prep/wikitext_detokenizer.hpp"

#include <cstddef>

namespace shardgpt {
namespace {

constexpr std::string_view white_space = " \t\n\r\v\f";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::size_t at = text.find(from);
  if (at == std::string::npos) {
    return;
  }
  std::string result;
  std::size_t begin = 0;
  for (; at != std::string::npos; at = text.find(from, begin)) {
    result.append(text, begin, at - begin).append(to);
    begin = at + from.size();
  }
  text = result.append(text, begin);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(white_space);
  return begin == std::string_view::npos ? std::string_view{}
                                         : text.substr(begin, text.find_last_not_of(white_space) + 1 - begin);
}

/// Takes the white space off the inner sides of each pair.
void tighten(std::string& text, char open, char close) {
  std::string result;
  std::size_t begin = 0;
  while (true) {
    const std::size_t left = text.find(open, begin);
    const std::size_t right = left == std::string::npos ? left : text.find(close, left + 1);
    if (right == std::string::npos) {
      break;
    }
    result.append(text, begin, left + 1 - begin);
    result += trimmed(std::string_view(text).substr(left + 1, right - left - 1));
    result += close;
    begin = right + 1;
  }
  text = result.append(text, begin);
}

}  // namespace

const char* detokenize_name(Detokenize detokenize) {
  return detokenize == Detokenize::wikitext ? "wikitext" : "none";
}

void WikitextDetokenizer::add(std::string_view text, std::string& out) {
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', begin)) {
    const std::string_view piece = text.substr(begin, end + 1 - begin);
    if (line_.empty()) {
      add_line(piece, out);
    } else {
      line_ += piece;
      add_line(line_, out);
      line_.clear();
    }
    begin = end + 1;
  }
  line_ += text.substr(begin);
}

void WikitextDetokenizer::finish(std::string& out) {
  if (!line_.empty()) {
    add_line(line_, out);
    line_.clear();
  }
  first_line_ = true;
}

void WikitextDetokenizer::add_line(std::string_view line, std::string& out) {
  // The order of the rules is part of the result.
  std::string text(line);
  replace_all(text, "s '", "s'");
  replace_all(text, " @-@ ", "-");
  replace_all(text, " @,@ ", ",");
  replace_all(text, " @.@ ", ".");
  replace_all(text, " : ", ": ");
  replace_all(text, " ; ", "; ");
  replace_all(text, " . ", ". ");
  replace_all(text, " ! ", "! ");
  replace_all(text, " ? ", "? ");
  replace_all(text, " , ", ", ");
  tighten(text, '(', ')');
  tighten(text, '[', ']');
  tighten(text, '{', '}');
  tighten(text, '"', '"');
  tighten(text, '\'', '\'');
  replace_all(text, "= = = =", "====");
  replace_all(text, "= = =", "===");
  replace_all(text, "= =", "==");
  replace_all(text, " \xc2\xb0 ", "\xc2\xb0");  // degree sign
  if (text.ends_with(" \n")) {
    text.erase(text.size() - 2, 1);
  }
  if (!first_line_ && text.starts_with(' ')) {
    text.erase(0, 1);
  }
  replace_all(text, " N ", " 1 ");
  replace_all(text, " 's", "'s");
  out += text;
  first_line_ = false;
}

std::string detokenized(std::string_view text, Detokenize detokenize) {
  if (detokenize == Detokenize::none) {
    return std::string(text);
  }
  std::string result;
  WikitextDetokenizer detokenizer;
  detokenizer.add(text, result);
  detokenizer.finish(result);
  return result;
}

}  // namespace shardgpt
