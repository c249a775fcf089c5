#include "data_prep/document_boundary.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"

namespace shardgpt {
namespace {

class WholeFile final : public BoundaryFinder {
 public:
  std::optional<Boundary> find(std::string_view /*text*/, bool /*at_end*/) override { return std::nullopt; }
  [[nodiscard]] std::size_t decided(std::string_view text) const override { return text.size(); }
  void consume(std::string_view /*front*/) override {}
};

/// Lines end with LF or CRLF, the last one need not.
class Lines final : public BoundaryFinder {
 public:
  std::optional<Boundary> find(std::string_view text, bool at_end) override {
    std::size_t end = text.find('\n', searched_);
    searched_ = end == std::string_view::npos ? text.size() : end;
    if (end == std::string_view::npos) {
      if (at_end && text.ends_with('\r')) {
        return Boundary{text.size() - 1, text.size()};
      }
      return std::nullopt;
    }
    const std::size_t next = end + 1;
    if (end > 0 && text[end - 1] == '\r') {
      --end;
    }
    return Boundary{end, next};
  }
  [[nodiscard]] std::size_t decided(std::string_view text) const override {
    return text.ends_with('\r') ? text.size() - 1 : text.size();
  }
  void consume(std::string_view front) override { searched_ -= std::min(searched_, front.size()); }

 private:
  std::size_t searched_ = 0;
};

class Separated final : public BoundaryFinder {
 public:
  explicit Separated(std::string separator) : separator_(std::move(separator)) {
    SHARDGPT_REQUIRE(!separator_.empty(), "--document separator needs a --separator");
  }
  std::optional<Boundary> find(std::string_view text, bool /*at_end*/) override {
    const std::size_t at = text.find(separator_, searched_);
    if (at == std::string_view::npos) {
      searched_ = decided(text);
      return std::nullopt;
    }
    searched_ = at;
    return Boundary{at, at + separator_.size()};
  }
  /// All but the longest end of `text` that a separator begins with.
  [[nodiscard]] std::size_t decided(std::string_view text) const override {
    for (std::size_t size = std::min(text.size(), separator_.size() - 1); size > 0; --size) {
      if (text.ends_with(std::string_view(separator_).substr(0, size))) {
        return text.size() - size;
      }
    }
    return text.size();
  }
  void consume(std::string_view front) override { searched_ -= std::min(searched_, front.size()); }

 private:
  std::string separator_;
  std::size_t searched_ = 0;
};

/// A heading is a line ` = Title = ` (not ` = = Section = = `) with a blank line, or the end of the text, on
/// either side. Text before the first heading is a document if it is not blank.
class Headings final : public BoundaryFinder {
 public:
  std::optional<Boundary> find(std::string_view text, bool at_end) override {
    while (true) {
      const std::size_t end = text.find('\n', searched_);
      if (end == std::string_view::npos) {
        return at_end ? last_line(text) : unfinished_line(text);
      }
      const std::optional<std::size_t> confirmed = take_line(text.substr(line_, end - line_));
      line_ = end + 1;
      searched_ = line_;
      if (confirmed) {
        return Boundary{*confirmed, *confirmed};
      }
    }
  }

  [[nodiscard]] std::size_t decided(std::string_view text) const override {
    if (candidate_) {
      return *candidate_;
    }
    return may_become_heading(text.substr(line_)) ? line_ : text.size();
  }

  void consume(std::string_view front) override {
    if (front.size() > line_) {
      line_is_cut_ = true;
      cut_is_blank_ = cut_is_blank_ && is_blank(front.substr(line_));
    }
    line_ -= std::min(line_, front.size());
    searched_ -= std::min(searched_, front.size());
    if (candidate_) {
      *candidate_ -= std::min(*candidate_, front.size());
    }
  }

 private:
  static constexpr std::size_t longest_heading = 65'536;  // longer lines need not be held

  static bool is_blank(std::string_view line) {
    return line.find_first_not_of(" \t\r") == std::string_view::npos;
  }
  static bool is_heading(std::string_view line) {
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    return line.size() > 6 && line.size() <= longest_heading && line.starts_with(" = ") &&
           line.ends_with(" = ") && !line.starts_with(" = = ") && !line.ends_with(" = = ") &&
           !is_blank(line.substr(3, line.size() - 6));
  }
  [[nodiscard]] bool may_become_heading(std::string_view start) const {
    constexpr std::string_view wanted = " = ";
    const std::size_t size = std::min(start.size(), wanted.size());
    return previous_is_blank_ && !line_is_cut_ && start.size() <= longest_heading &&
           start.substr(0, size) == wanted.substr(0, size);
  }

  /// Takes in the line that begins at line_. Returns the begin of a heading that ends a document, if the line
  /// confirms one.
  std::optional<std::size_t> take_line(std::string_view line) {
    const bool blank = is_blank(line) && (!line_is_cut_ || cut_is_blank_);
    const std::optional<std::size_t> heading = std::exchange(candidate_, std::nullopt);
    const bool confirmed = heading && blank && has_content_;
    has_content_ = has_content_ || heading.has_value();
    if (!line_is_cut_ && previous_is_blank_ && is_heading(line)) {
      candidate_ = line_;
    } else {
      has_content_ = has_content_ || !blank;
    }
    previous_is_blank_ = blank;
    line_is_cut_ = false;
    cut_is_blank_ = true;
    return confirmed ? heading : std::nullopt;
  }

  std::optional<Boundary> unfinished_line(std::string_view text) {
    searched_ = text.size();
    if (candidate_ && !is_blank(text.substr(line_))) {
      candidate_.reset();  // so that the text is not held until the line ends
      has_content_ = true;
    }
    return std::nullopt;
  }

  std::optional<Boundary> last_line(std::string_view text) {
    std::optional<std::size_t> confirmed;
    if (line_ < text.size() || line_is_cut_) {
      confirmed = take_line(text.substr(line_));
      line_ = text.size();
      searched_ = line_;
    }
    if (!confirmed && candidate_) {
      confirmed = take_line({});
    }
    return confirmed ? std::optional(Boundary{*confirmed, *confirmed}) : std::nullopt;
  }

  std::size_t line_ = 0;                  ///< begin of the line that is not finished
  std::size_t searched_ = 0;              ///< no line end between line_ and here
  bool line_is_cut_ = false;              ///< its begin is consumed
  bool cut_is_blank_ = true;              ///< the consumed begin of that line was blank
  bool previous_is_blank_ = true;         ///< the line before it
  bool has_content_ = false;              ///< something that is not blank has gone into a document
  std::optional<std::size_t> candidate_;  ///< begin of a heading, if the next line is blank
};

}  // namespace

std::unique_ptr<BoundaryFinder> make_boundary_finder(DocumentPolicy policy, const std::string& separator) {
  switch (policy) {
    case DocumentPolicy::line:
      return std::make_unique<Lines>();
    case DocumentPolicy::heading:
      return std::make_unique<Headings>();
    case DocumentPolicy::separator:
      return std::make_unique<Separated>(separator);
    case DocumentPolicy::file:
      break;
  }
  return std::make_unique<WholeFile>();
}

}  // namespace shardgpt
