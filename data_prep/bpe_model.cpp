#include "data_prep/bpe_model.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "core/atomic_file.hpp"
#include "core/checked.hpp"
#include "core/error.hpp"
#include "data_prep/byte_alphabet.hpp"

namespace shardgpt {
namespace {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t shown = 60;
  return fmt::format("'{}{}'", text.substr(0, shown), text.size() > shown ? "..." : "");
}

}  // namespace

BpeModel BpeModel::load(const std::filesystem::path& vocab_file, const std::filesystem::path& merges_file) {
  return parse(read_text_file(vocab_file), vocab_file.string(), read_text_file(merges_file),
               merges_file.string());
}

BpeModel BpeModel::parse(std::string_view vocab_json, const std::string& vocab_name,
                         std::string_view merges_text, const std::string& merges_name) {
  BpeModel model;
  model.read_vocab(vocab_json, vocab_name);
  model.read_merges(merges_text, merges_name);
  return model;
}

void BpeModel::read_vocab(std::string_view json, const std::string& name) {
  nlohmann::json vocab;
  try {
    vocab = nlohmann::json::parse(json);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(name + " is no JSON: " + error.what());
  }
  SHARDGPT_REQUIRE(vocab.is_object() && !vocab.empty(),
                   name + " is not a GPT-2 vocabulary: wanted one JSON object {\"token\": id, ...}");
  const auto size = narrow<std::int64_t>(vocab.size());
  tokens_.resize(vocab.size());
  std::vector<bool> used(vocab.size());
  for (const auto& [key, value] : vocab.items()) {
    SHARDGPT_REQUIRE(value.is_number_integer(), fmt::format("{}: token {} has id {}, wanted an integer", name,
                                                            in_quotes(key), in_quotes(value.dump())));
    const auto id = value.is_number_unsigned() && value.get<std::uint64_t>() > INT32_MAX
                        ? std::int64_t{INT32_MAX}
                        : value.get<std::int64_t>();
    SHARDGPT_REQUIRE(
        id >= 0 && id < size,
        fmt::format("{}: token {} has id {}, but the file has {} entries, which must use the ids 0 to {}",
                    name, in_quotes(key), value.dump(), size, size - 1));
    const auto place = static_cast<std::size_t>(id);
    SHARDGPT_REQUIRE(!used[place],
                     fmt::format("{}: id {} is used twice, again by {}", name, id, in_quotes(key)));
    used[place] = true;
    // A token that is not written in the byte alphabet is an added one: ordinary text never makes it.
    std::string bytes = from_byte_alphabet(key).value_or(key);
    const auto [entry, is_new] = ids_.try_emplace(bytes, static_cast<std::int32_t>(id));
    SHARDGPT_REQUIRE(is_new,
                     fmt::format("{}: ids {} and {} stand for the same bytes", name, entry->second, id));
    tokens_[place] = std::move(bytes);
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    const auto id = find({&text, 1});
    SHARDGPT_REQUIRE(id.has_value(),
                     fmt::format("{}: there is no token {} for the byte 0x{:02x}; a byte-level "
                                 "vocabulary has one for each of the 256 bytes",
                                 name, in_quotes(to_byte_alphabet({&text, 1})), byte));
    byte_ids_[static_cast<std::size_t>(byte)] = *id;
  }
}

void BpeModel::read_merges(std::string_view text, const std::string& name) {
  pairs_ = PairTable<Merge>(tokens_.size());
  std::int64_t line_number = 0;
  while (!text.empty()) {
    // Only a newline ends a line; U+0085 and U+2028 are characters like others.
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++line_number;
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (line_number == 1 && line.starts_with("#version")) {
      continue;
    }
    add_merge(line, fmt::format("{}:{}", name, line_number));
  }
}

void BpeModel::add_merge(std::string_view line, const std::string& where) {
  const std::size_t blank = line.find(' ');
  const std::string_view left = line.substr(0, blank);
  const std::string_view right =
      blank == std::string_view::npos ? std::string_view() : line.substr(blank + 1);
  SHARDGPT_REQUIRE(
      !left.empty() && !right.empty() && right.find(' ') == std::string_view::npos,
      fmt::format("{}: a merge is two tokens with one blank between them, found {}", where, in_quotes(line)));
  const auto id_of = [&](const std::string& token) {
    const auto id = find(from_byte_alphabet(token).value_or(token));
    SHARDGPT_REQUIRE(id.has_value(),
                     fmt::format("{}: token {} is not in the vocabulary; merges and vocabulary do not "
                                 "belong together",
                                 where, in_quotes(token)));
    return *id;
  };
  const std::int32_t left_id = id_of(std::string(left));
  const std::int32_t right_id = id_of(std::string(right));
  const std::int32_t merged = id_of(std::string(left) + std::string(right));
  SHARDGPT_REQUIRE(pairs_.insert(left_id, right_id, {narrow<std::uint32_t>(merge_pairs_.size()), merged}),
                   fmt::format("{}: the merge {} stands there a second time", where, in_quotes(line)));
  merge_pairs_.emplace_back(left_id, right_id);
}

std::optional<std::int32_t> BpeModel::find(std::string_view bytes) const {
  const auto found = ids_.find(std::string(bytes));
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::string BpeModel::hash() const {
  std::string content;
  for (const std::string& token : tokens_) {
    content += fmt::format("{}:{}", token.size(), token);
  }
  for (const auto& [left, right] : merge_pairs_) {
    content += fmt::format("\n{} {}", left, right);
  }
  const XXH128_hash_t value = XXH3_128bits(content.data(), content.size());
  return fmt::format("{:016x}{:016x}", value.high64, value.low64);
}

void BpeModel::decode(std::span<const std::int32_t> ids, std::string& out) const {
  for (const std::int32_t id : ids) {
    SHARDGPT_REQUIRE(id >= 0 && id < vocab_size(),
                     fmt::format("token id {} is outside the vocabulary of {} entries", id, vocab_size()));
    out += bytes_of(id);
  }
}

}  // namespace shardgpt
