#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data_prep/pair_table.hpp"

namespace shardgpt {

/// A byte-level BPE tokenizer as GPT-2 publishes it: vocab.json and merges.txt. Immutable; threads share it.
class BpeModel {
 public:
  /// Throws InputError naming file, line or token where one of the files is malformed or they do not fit
  /// together.
  [[nodiscard]] static BpeModel load(const std::filesystem::path& vocab_file,
                                     const std::filesystem::path& merges_file);
  /// The same from the files' contents; the names are for messages.
  [[nodiscard]] static BpeModel parse(std::string_view vocab_json, const std::string& vocab_name,
                                      std::string_view merges_text, const std::string& merges_name);

  /// Entries of vocab.json: ids are 0 … vocab_size() − 1.
  [[nodiscard]] std::int64_t vocab_size() const { return static_cast<std::int64_t>(tokens_.size()); }
  [[nodiscard]] std::size_t merges() const { return merge_pairs_.size(); }
  /// The bytes that a token stands for.
  [[nodiscard]] const std::string& bytes_of(std::int32_t id) const {
    return tokens_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] std::optional<std::int32_t> find(std::string_view bytes) const;
  [[nodiscard]] std::int32_t id_of_byte(unsigned char byte) const { return byte_ids_[byte]; }
  [[nodiscard]] Merge merge_of(std::int32_t left, std::int32_t right) const {
    return pairs_.find(left, right);
  }
  /// Hash of the ids' bytes and the merges, 32 hex digits: the same whatever the files' line ends and
  /// escapes.
  [[nodiscard]] std::string hash() const;

  /// Appends the bytes of `ids`. Throws InputError where an id is outside the vocabulary.
  void decode(std::span<const std::int32_t> ids, std::string& out) const;

 private:
  BpeModel() : pairs_(0) {}
  void read_vocab(std::string_view json, const std::string& name);
  void read_merges(std::string_view text, const std::string& name);
  void add_merge(std::string_view line, const std::string& where);

  std::vector<std::string> tokens_;  ///< [vocab_size]
  std::unordered_map<std::string, std::int32_t> ids_;
  std::array<std::int32_t, 256> byte_ids_{};
  std::vector<std::pair<std::int32_t, std::int32_t>> merge_pairs_;  ///< in order of rank
  PairTable<Merge> pairs_;
};

}  // namespace shardgpt
