#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data_prep/bpe_encoder.hpp"
#include "data_prep/bpe_model.hpp"

namespace shardgpt {

/// What the literal end-of-text marker within a text becomes.
enum class SpecialText { ordinary, parsed };

/// What was seen in the text.
struct TextCounts {
  std::int64_t special_in_text = 0;     ///< end-of-text markers, parsed or not
  std::int64_t invalid_utf8_bytes = 0;  ///< kept, each as one symbol

  TextCounts& operator+=(const TextCounts& other) {
    special_in_text += other.special_in_text;
    invalid_utf8_bytes += other.invalid_utf8_bytes;
    return *this;
  }
};

/// A BpeEncoder that also deals with the end-of-text marker and counts what a user should know of.
class TextEncoder {
 public:
  /// `end_of_text` is the marker's text, e.g. "<|endoftext|>"; `model` must outlive the encoder.
  TextEncoder(const BpeModel& model, std::string end_of_text, SpecialText special);

  /// Appends the ids of `text` and adds to `counts`.
  void encode(std::string_view text, std::vector<std::int32_t>& out, TextCounts& counts);

 private:
  BpeEncoder encoder_;
  std::string end_of_text_;
  std::optional<std::int32_t> parsed_id_;  ///< where markers are parsed
};

}  // namespace shardgpt
