#include "hf_folder.hpp"

#include <cstring>
#include <fstream>

#include <unistd.h>

using namespace shardgpt;

namespace {

ModelConfig folder_config() {
  ModelConfig config;
  config.layers = 2;
  config.heads = 2;
  config.embd = 4;
  config.vocab = 11;
  config.positions = 6;
  config.bos_token = 10;
  config.eos_token = 9;
  return config;
}

}  // namespace

TestFolder::TestFolder() {
  static int number = 0;
  path = std::filesystem::temp_directory_path() /
         ("shardgpt-convert-test-" + std::to_string(::getpid()) + "-" + std::to_string(number++));
  std::filesystem::create_directories(path);
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

void write_raw_safetensors(const std::filesystem::path& file, const std::string& header,
                           const std::string& data) {
  std::ofstream out(file, std::ios::binary);
  const std::uint64_t length = header.size();
  out.write(reinterpret_cast<const char*>(&length), sizeof(length));
  out << header << data;
}

void write_tensors(const std::filesystem::path& file, const RawTensors& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  write_raw_safetensors(file, header.dump(), data);
}

float raw_value(std::size_t tensor, std::int64_t element) {
  return static_cast<float>(tensor) + static_cast<float>(element) * 0.0625F;
}

std::string float_bytes(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

HfFolder::HfFolder() : table(folder_config()) {
  config = {{"model_type", "gpt2"}, {"vocab_size", 11},  {"n_positions", 6},
            {"n_embd", 4},          {"n_layer", 2},      {"n_head", 2},
            {"bos_token_id", 10},   {"eos_token_id", 9}, {"layer_norm_epsilon", 1e-5},
            {"resid_pdrop", 0.0},   {"embd_pdrop", 0.0}, {"attn_pdrop", 0.0}};
  for (std::size_t i = 0; i < table.tensors().size(); ++i) {
    const TensorSpec& spec = table.tensors()[i];
    std::vector<float> values;
    for (std::int64_t element = 0; element < spec.elements; ++element) {
      values.push_back(raw_value(i, element));
    }
    tensors[spec.name] = {"F32", spec.shape, float_bytes(values)};
  }
}

void HfFolder::write(const std::filesystem::path& folder) const {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << config.dump();
  write_tensors(folder / "model.safetensors", tensors);
}
