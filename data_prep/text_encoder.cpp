#include "data_prep/text_encoder.hpp"

#include <utility>

#include "core/error.hpp"
#include "data_prep/unicode.hpp"

namespace shardgpt {

TextEncoder::TextEncoder(const BpeModel& model, std::string end_of_text, SpecialText special)
    : encoder_(model), end_of_text_(std::move(end_of_text)) {
  if (special == SpecialText::parsed) {
    parsed_id_ = model.find(end_of_text_);
    SHARDGPT_REQUIRE(parsed_id_.has_value(), "the vocabulary has no token '" + end_of_text_ + "' to parse");
  }
}

void TextEncoder::encode(std::string_view text, std::vector<std::int32_t>& out, TextCounts& counts) {
  counts.invalid_utf8_bytes += count_invalid_utf8(text);
  std::size_t begin = 0;
  for (std::size_t at = text.find(end_of_text_); at != std::string_view::npos;
       at = text.find(end_of_text_, at + end_of_text_.size())) {
    ++counts.special_in_text;
    if (parsed_id_) {
      encoder_.encode(text.substr(begin, at - begin), out);
      out.push_back(*parsed_id_);
      begin = at + end_of_text_.size();
    }
  }
  encoder_.encode(text.substr(begin), out);
}

}  // namespace shardgpt
