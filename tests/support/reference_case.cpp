#include "tests/support/reference_case.hpp"

#include <bit>
#include <cstring>
#include <fstream>

#include "core/atomic_file.hpp"

namespace shardgpt::test {

NamedTensors read_tensors(const std::filesystem::path& path) {
  const std::string bytes = read_text_file(path);
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  const auto header = nlohmann::json::parse(bytes.substr(8, header_bytes));
  NamedTensors tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      continue;
    }
    const std::size_t begin = 8 + header_bytes + entry["data_offsets"][0].get<std::size_t>();
    const std::size_t size = entry["data_offsets"][1].get<std::size_t>() + 8 + header_bytes - begin;
    std::vector<double>& values = tensors[name];
    if (entry["dtype"] == "F64") {
      values.resize(size / sizeof(double));
      std::memcpy(values.data(), bytes.data() + begin, size);
    } else {
      std::vector<float> floats(size / sizeof(float));
      std::memcpy(floats.data(), bytes.data() + begin, size);
      values.assign(floats.begin(), floats.end());
    }
  }
  return tensors;
}

ReferenceCase::ReferenceCase(const std::string& name)
    : folder(std::filesystem::path(SHARDGPT_TEST_REFERENCE_DIR) / name),
      expected(nlohmann::json::parse(read_text_file(folder / "expected.json"))),
      model(read_tensors(folder / "model.safetensors")),
      grads(read_tensors(folder / "grads.safetensors")),
      final_weights(read_tensors(folder / "final.safetensors")) {
  const auto json = nlohmann::json::parse(read_text_file(folder / "config.json"));
  config.layers = json["n_layer"];
  config.heads = json["n_head"];
  config.embd = json["n_embd"];
  config.vocab = json["vocab_size"];
  config.positions = json["n_positions"];
  config.bos_token = json["bos_token_id"];
  config.eos_token = json["eos_token_id"];
  rows = expected["rows"];
  seq_len = config.positions;
}

Batch ReferenceCase::batch(std::int64_t step, std::int64_t first, std::int64_t last) const {
  Batch batch{last - first, seq_len, {}, {}};
  const auto& tokens = expected["tokens"];
  for (std::int64_t row = first; row < last; ++row) {
    const auto begin = static_cast<std::size_t>((step * rows + row) * seq_len);
    for (std::size_t i = 0; i < static_cast<std::size_t>(seq_len); ++i) {
      batch.inputs.push_back(tokens[begin + i]);
      batch.targets.push_back(tokens[begin + i + 1]);
    }
  }
  return batch;
}

}  // namespace shardgpt::test
