#include "hf/hf_model.hpp"

#include <algorithm>
#include <cstring>

#include "core/atomic_file.hpp"
#include "core/error.hpp"
#include "hf/hf_config.hpp"
#include "hf/hf_names.hpp"
#include "hf/strict_json.hpp"
#include "hf/weight_type.hpp"

namespace shardgpt {
namespace {

constexpr std::size_t names_listed = 10;

ModelConfig read_config(const std::filesystem::path& folder) {
  const std::string where = (folder / "config.json").string();
  return model_config_from_hf(parse_strict_object(read_text_file(where), where), where);
}

/// "a, b and 3 more"
std::string listing(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), names_listed); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() > names_listed ? text + " and " + std::to_string(names.size() - names_listed) + " more"
                                     : text;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return nlohmann::json(shape).dump();
}

/// Compares two tensors bit by bit, piece by piece.
bool same_values(const HfTensor& a, const HfTensor& b) {
  constexpr std::int64_t piece = std::int64_t{1} << 20;
  if (a.entry->shape != b.entry->shape) {
    return false;
  }
  std::vector<float> left;
  std::vector<float> right;
  for (std::int64_t done = 0; done < a.entry->elements; done += piece) {
    left.resize(static_cast<std::size_t>(std::min(piece, a.entry->elements - done)));
    right.resize(left.size());
    a.file->read(*a.entry, done, left);
    b.file->read(*b.entry, done, right);
    if (std::memcmp(left.data(), right.data(), left.size() * sizeof(float)) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

HfModel::HfModel(const std::filesystem::path& folder, ExtraVocabRows extra_rows)
    : folder_(folder), table_(read_config(folder)), files_(folder), tensors_(files_.tensors()) {
  tie_head();
  check_names();
  for (const TensorSpec& tensor : table_.tensors()) {
    check_tensor(tensor, extra_rows);
  }
}

void HfModel::tie_head() {
  const auto head = tensors_.find(std::string(hf_head_name));
  if (head == tensors_.end()) {
    return;
  }
  const auto [embedding, only_head] = tensors_.emplace(hf_embedding_name, head->second);
  SHARDGPT_REQUIRE(only_head || same_values(embedding->second, head->second),
                   folder_.string() + ": " + std::string(hf_head_name) + " differs from " +
                       std::string(hf_embedding_name) + "; only a tied head is supported");
  tensors_.erase(head);
}

void HfModel::check_names() const {
  std::vector<std::string> missing;
  for (const TensorSpec& tensor : table_.tensors()) {
    if (!tensors_.contains(tensor.name)) {
      missing.push_back(tensor.name);
    }
  }
  SHARDGPT_REQUIRE(missing.empty(), folder_.string() + ": " + std::to_string(missing.size()) +
                                        " tensor(s) missing: " + listing(missing));
  std::vector<std::string> unknown;
  for (const auto& [name, tensor] : tensors_) {
    if (std::ranges::find(table_.tensors(), name, &TensorSpec::name) == table_.tensors().end()) {
      unknown.push_back(tensor.entry->name);
    }
  }
  SHARDGPT_REQUIRE(unknown.empty(), folder_.string() + ": " + std::to_string(unknown.size()) +
                                        " unknown tensor(s): " + listing(unknown));
}

void HfModel::check_tensor(const TensorSpec& tensor, ExtraVocabRows extra_rows) const {
  const HfTensor& found = tensors_.at(tensor.name);
  const std::string what = found.file->path().string() + ": tensor " + found.entry->name;
  SHARDGPT_REQUIRE(weight_type_of(found.entry->dtype),
                   what + " is " + found.entry->dtype + ", wanted F32, BF16 or F16");
  const std::vector<std::int64_t>& shape = found.entry->shape;
  const bool more_rows = tensor.name == hf_embedding_name && shape.size() == 2 &&
                         shape[1] == tensor.shape[1] && shape[0] > tensor.shape[0];
  if (more_rows) {
    SHARDGPT_REQUIRE(extra_rows == ExtraVocabRows::cut,
                     what + " has " + std::to_string(shape[0]) + " rows, config.json says vocab_size " +
                         std::to_string(tensor.shape[0]) +
                         ": padding? from-hf --cut-vocab drops the last rows");
    return;
  }
  SHARDGPT_REQUIRE(shape == tensor.shape, what + " has the shape " + shape_text(shape) +
                                              ", config.json makes it " + shape_text(tensor.shape));
}

WeightType HfModel::type_of(const TensorSpec& tensor) const {
  return weight_type_of(tensors_.at(tensor.name).entry->dtype).value();
}

void HfModel::read(const TensorSpec& tensor, std::int64_t begin, std::span<float> values) const {
  const HfTensor& found = tensors_.at(tensor.name);
  found.file->read(*found.entry, begin, values);
}

void HfModel::read_unit_piece(std::int64_t unit, std::int64_t begin, std::span<float> values) const {
  std::ranges::fill(values, 0.0F);
  const std::int64_t end = begin + static_cast<std::int64_t>(values.size());
  for (const TensorSpec& tensor : table_.tensors_of(table_.units()[static_cast<std::size_t>(unit)])) {
    const std::int64_t first = std::max(begin, tensor.offset);
    const std::int64_t last = std::min(end, tensor.offset + tensor.elements);
    if (first < last) {
      read(tensor, first - tensor.offset,
           values.subspan(static_cast<std::size_t>(first - begin), static_cast<std::size_t>(last - first)));
    }
  }
}

}  // namespace shardgpt
