#include "hf/hf_weight_files.hpp"

#include <algorithm>

#include "core/atomic_file.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "hf/hf_names.hpp"
#include "hf/strict_json.hpp"

namespace shardgpt {
namespace {

constexpr const char* single_name = "model.safetensors";
constexpr const char* index_name = "model.safetensors.index.json";

/// A file name of an index: no folders, so that nothing outside the model's folder is read.
void require_plain_name(const std::string& name, const std::string& where) {
  const bool plain = !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
  SHARDGPT_REQUIRE(plain, where + ": \"" + name + "\" is not a plain file name");
}

}  // namespace

HfWeightFiles::HfWeightFiles(const std::filesystem::path& folder) {
  const std::filesystem::path index = folder / index_name;
  if (std::filesystem::exists(index)) {
    if (std::filesystem::exists(folder / single_name)) {
      log_warning((folder / single_name).string() + " is not read: " + index_name + " rules");
    }
    add_indexed(folder, index);
  } else {
    add_single(folder);
  }
}

void HfWeightFiles::add_single(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / single_name;
  const bool pickled = std::filesystem::exists(folder / "pytorch_model.bin");
  SHARDGPT_REQUIRE(std::filesystem::exists(file) || !pickled,
                   folder.string() + " holds pytorch_model.bin only; save it with safe_serialization=True, " +
                       single_name + " is wanted");
  files_.push_back(std::make_unique<SafetensorsReader>(file));
  for (const SafetensorsEntry& entry : files_.back()->header().entries) {
    add(entry.name, {files_.back().get(), &entry});
  }
}

void HfWeightFiles::add_indexed(const std::filesystem::path& folder, const std::filesystem::path& index) {
  const std::string where = index.string();
  const nlohmann::json json = parse_strict_object(read_text_file(index), where);
  SHARDGPT_REQUIRE(json.contains("weight_map") && json["weight_map"].is_object(),
                   where + ": weight_map is missing");
  std::map<std::string, const SafetensorsReader*> open_files;
  for (const auto& [name, value] : json["weight_map"].items()) {
    SHARDGPT_REQUIRE(value.is_string(), where + ": the file of " + name + " is not a string");
    const auto file_name = value.get<std::string>();
    require_plain_name(file_name, where);
    const SafetensorsReader*& file = open_files[file_name];
    if (file == nullptr) {
      SHARDGPT_REQUIRE(std::filesystem::exists(folder / file_name),
                       where + " names " + file_name + ", which is not there");
      files_.push_back(std::make_unique<SafetensorsReader>(folder / file_name));
      file = files_.back().get();
    }
    const auto& entries = file->header().entries;
    const auto entry = std::ranges::find(entries, name, &SafetensorsEntry::name);
    SHARDGPT_REQUIRE(entry != entries.end(),
                     where + " says that " + file_name + " holds " + name + ", which it does not");
    add(name, {file, &*entry});
  }
}

void HfWeightFiles::add(const std::string& name, const HfTensor& tensor) {
  const std::string canonical = canonical_hf_name(name);
  if (is_mask_buffer(canonical)) {
    return;
  }
  SHARDGPT_REQUIRE(
      tensors_.emplace(canonical, tensor).second,
      tensor.file->path().string() + ": " + canonical + " comes twice, with and without \"transformer.\"");
}

}  // namespace shardgpt
