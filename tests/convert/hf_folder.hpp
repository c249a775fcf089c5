#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/tensor_table.hpp"

/// A folder of its own for a test, removed at its end.
struct TestFolder {
  TestFolder();
  ~TestFolder();
  std::filesystem::path path;
};

/// A safetensors file from its two parts, without any check.
void write_raw_safetensors(const std::filesystem::path& file, const std::string& header,
                           const std::string& data);

/// A tensor as it stands in a file.
struct RawTensor {
  std::string dtype = "F32";
  std::vector<std::int64_t> shape;
  std::string bytes;
};
using RawTensors = std::map<std::string, RawTensor>;

/// Packs tensors in the order of their names.
void write_tensors(const std::filesystem::path& file, const RawTensors& tensors);

/// A small GPT-2 in Hugging Face's form, to be changed by the test and then written.
struct HfFolder {
  HfFolder();
  /// config.json and model.safetensors in `folder`.
  void write(const std::filesystem::path& folder) const;

  nlohmann::json config;
  RawTensors tensors;
  shardgpt::TensorTable table;
};

/// The float that HfFolder stores at an element of a tensor.
float raw_value(std::size_t tensor, std::int64_t element);
std::string float_bytes(const std::vector<float>& values);

/// What `work` throws, as text; empty where it throws nothing.
template <class Work>
std::string error_of(Work&& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
