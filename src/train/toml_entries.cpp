#include "train/toml_entries.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "core/error.hpp"

namespace shardgpt {
namespace {

bool is_number(std::string text) {
  std::erase(text, '_');
  const std::size_t sign = text.starts_with('+') ? 1 : 0;
  double value = 0;
  const auto result = std::from_chars(text.data() + sign, text.data() + text.size(), value);
  return result.ptr == text.data() + text.size() && !text.ends_with('.') && text.size() > sign;
}

class Reader {
 public:
  Reader(std::string text, const std::string& file) : text_(std::move(text)), file_(file) {}

  std::vector<TomlEntry> read() {
    std::vector<TomlEntry> entries;
    for (skip_lines(); at_ < text_.size(); skip_lines()) {
      TomlEntry entry = read_entry();
      for (const TomlEntry& earlier : entries) {
        if (earlier.key == entry.key) {
          fail(entry.line, "'" + entry.key + "' stands here a second time, the first is in line " +
                               std::to_string(earlier.line) + "; keep one of them");
        }
      }
      entries.push_back(std::move(entry));
    }
    return entries;
  }

 private:
  [[noreturn]] void fail(int line, const std::string& what) const {
    throw_input_error(file_ + ":" + std::to_string(line) + ": " + what);
  }

  /// The next character; '\n' at the end of the text.
  [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\n'; }

  void skip_blanks() {
    while (next() == ' ' || next() == '\t' || next() == '\r') {
      ++at_;
    }
  }
  void skip_comment() {
    skip_blanks();
    if (next() == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    }
  }
  void skip_lines() {
    for (skip_comment(); at_ < text_.size() && next() == '\n'; skip_comment()) {
      ++at_;
      ++line_;
    }
  }

  TomlEntry read_entry() {
    TomlEntry entry;
    entry.line = line_;
    if (next() == '[') {
      fail(line_, "tables have no meaning here: write options by their names without dashes, name = value");
    }
    entry.key = next() == '"' || next() == '\'' ? read_string(entry.key) : read_word("=#");
    skip_blanks();
    if (entry.key.empty() || next() != '=') {
      fail(line_, "wanted name = value, found '" + rest_of_line(entry.line) + "'");
    }
    ++at_;
    skip_blanks();
    if (next() == '[') {
      entry.is_list = true;
      read_list(entry);
    } else {
      entry.values.push_back(read_value(entry.key, "#"));
    }
    skip_comment();
    if (next() != '\n') {
      fail(line_, "'" + entry.key + "' has more than one value; a list stands in brackets, text in quotes");
    }
    return entry;
  }

  void read_list(TomlEntry& entry) {
    ++at_;
    for (skip_lines(); next() != ']'; skip_lines()) {
      if (at_ >= text_.size()) {
        fail(entry.line, "the list of '" + entry.key + "' has no end, ']' is missing");
      }
      entry.values.push_back(read_value(entry.key, ",]#"));
      skip_lines();
      if (next() == ',') {
        ++at_;
      } else if (next() != ']') {
        fail(line_, "the values of '" + entry.key + "' stand without a comma between them");
      }
    }
    ++at_;
  }

  TomlValue read_value(const std::string& key, const std::string& ends) {
    if (next() == '"' || next() == '\'') {
      return {read_string(key), true};
    }
    const std::string word = read_word(ends);
    if (word != "true" && word != "false" && !is_number(word)) {
      fail(line_, word.empty() ? "'" + key + "' has no value"
                               : "the value of '" + key + "' is " + word +
                                     ", wanted a number, true, false or text in quotes");
    }
    TomlValue value{word, false};
    std::erase(value.text, '_');
    return value;
  }

  /// Up to a blank, the end of the line or one of `ends`.
  std::string read_word(const std::string& ends) {
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n" + ends, at_), text_.size());
    std::string word = text_.substr(at_, end - at_);
    at_ = end;
    return word;
  }

  std::string read_string(const std::string& key) {
    const char quote = text_[at_++];
    std::string result;
    while (next() != quote) {
      if (next() == '\n') {
        fail(line_, "text without an end" + (key.empty() ? "" : " for '" + key + "'") + ", " + quote +
                        " is missing");
      }
      result += quote == '"' && next() == '\\' ? read_escape() : text_[at_];
      ++at_;
    }
    ++at_;
    return result;
  }

  char read_escape() {
    constexpr std::string_view names = "\"\\bfnrt";
    constexpr std::string_view meanings = "\"\\\b\f\n\r\t";
    ++at_;
    const std::size_t found = names.find(next());
    if (found == std::string_view::npos) {
      fail(line_,
           std::string("unknown escape \\") + next() + " in text; in single quotes a backslash is itself");
    }
    return meanings[found];
  }

  [[nodiscard]] std::string rest_of_line(int line) const {
    std::size_t begin = 0;
    for (; line > 1; --line) {
      begin = text_.find('\n', begin) + 1;
    }
    return text_.substr(begin, std::min(text_.find_first_of("\r\n", begin), begin + 60) - begin);
  }

  std::string text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<TomlEntry> read_toml_entries(std::istream& input, const std::string& file) {
  return Reader(std::string(std::istreambuf_iterator<char>(input), {}), file).read();
}

}  // namespace shardgpt
