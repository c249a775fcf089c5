#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hf/safetensors_reader.hpp"

namespace shardgpt {

/// Where a tensor is.
struct HfTensor {
  const SafetensorsReader* file = nullptr;
  const SafetensorsEntry* entry = nullptr;
};

/// The open weight files of a Hugging Face folder: model.safetensors, or the files that
/// model.safetensors.index.json names. The index rules over a stray single file.
class HfWeightFiles {
 public:
  /// Throws InputError naming the file or the tensor that is missing, listed in the wrong file, or twice.
  explicit HfWeightFiles(const std::filesystem::path& folder);

  /// By canonical name (hf_names.hpp); masks are left out.
  [[nodiscard]] const std::map<std::string, HfTensor>& tensors() const { return tensors_; }

 private:
  void add_single(const std::filesystem::path& folder);
  void add_indexed(const std::filesystem::path& folder, const std::filesystem::path& index);
  void add(const std::string& name, const HfTensor& tensor);

  std::vector<std::unique_ptr<SafetensorsReader>> files_;
  std::map<std::string, HfTensor> tensors_;
};

}  // namespace shardgpt
