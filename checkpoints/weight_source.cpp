#include "checkpoints/weight_source.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "checkpoints/llmc_model.hpp"
#include "checkpoints/source_checkpoint.hpp"
#include "core/error.hpp"
#include "hf/binary_reader.hpp"

namespace shardgpt {
namespace {

constexpr std::int64_t piece_elements = std::int64_t{1} << 22;  // 16 MiB

class CheckpointWeights final : public WeightSource {
 public:
  explicit CheckpointWeights(const std::filesystem::path& path) : checkpoint_(path) {}
  [[nodiscard]] const TensorTable& table() const override { return checkpoint_.table(); }
  [[nodiscard]] std::filesystem::path path() const override { return checkpoint_.info().path; }
  [[nodiscard]] WeightType type_of(const TensorSpec& /*tensor*/) const override { return WeightType::f32; }
  void stream(const TensorSpec& tensor, const Consume& consume) const override {
    checkpoint_.stream(tensor, StateKind::param, consume);
  }

 private:
  SourceCheckpoint checkpoint_;
};

class HfWeights final : public WeightSource {
 public:
  HfWeights(const std::filesystem::path& folder, ExtraVocabRows extra_rows)
      : folder_(folder), model_(folder, extra_rows) {}
  [[nodiscard]] const TensorTable& table() const override { return model_.table(); }
  [[nodiscard]] std::filesystem::path path() const override { return folder_; }
  [[nodiscard]] WeightType type_of(const TensorSpec& tensor) const override { return model_.type_of(tensor); }
  void stream(const TensorSpec& tensor, const Consume& consume) const override {
    std::vector<float> values;
    for (std::int64_t done = 0; done < tensor.elements; done += piece_elements) {
      values.resize(static_cast<std::size_t>(std::min(piece_elements, tensor.elements - done)));
      model_.read(tensor, done, values);
      consume(values);
    }
  }

 private:
  std::filesystem::path folder_;
  HfModel model_;
};

class LlmcWeights final : public WeightSource {
 public:
  explicit LlmcWeights(const std::filesystem::path& file) : model_(file) {}
  [[nodiscard]] const TensorTable& table() const override { return model_.table(); }
  [[nodiscard]] std::filesystem::path path() const override { return model_.path(); }
  [[nodiscard]] WeightType type_of(const TensorSpec& /*tensor*/) const override { return model_.type(); }
  void stream(const TensorSpec& tensor, const Consume& consume) const override {
    model_.stream(tensor, consume);
  }

 private:
  LlmcModel model_;
};

bool is_hdf5(std::span<const std::byte> start) {
  constexpr std::array<unsigned char, 8> signature = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  return start.size() >= signature.size() &&
         std::memcmp(start.data(), signature.data(), signature.size()) == 0;
}

}  // namespace

std::string_view model_format_name(ModelFormat format) {
  constexpr std::array<std::string_view, 3> names = {"checkpoint", "hugging-face", "llm.c"};
  return names[static_cast<std::size_t>(format)];
}

ModelFormat model_format_of(const std::filesystem::path& path) {
  SHARDGPT_REQUIRE(std::filesystem::exists(path), path.string() + ": no such file or folder");
  if (std::filesystem::is_directory(path)) {
    return std::filesystem::exists(path / "config.json") ? ModelFormat::hugging_face
                                                         : ModelFormat::checkpoint;
  }
  const BinaryReader file(path);
  std::array<std::byte, 8> bytes{};
  const auto start =
      std::span(bytes).first(static_cast<std::size_t>(std::min<std::int64_t>(8, file.bytes())));
  file.read(0, start);
  if (is_hdf5(start)) {
    return ModelFormat::checkpoint;
  }
  if (is_llmc_model(start)) {
    return ModelFormat::llmc;
  }
  throw InputError(path.string() +
                   " is no model: wanted a checkpoint (HDF5), a run folder, a Hugging Face folder "
                   "or a model file of llm.c");
}

std::unique_ptr<WeightSource> open_weight_source(const std::filesystem::path& path) {
  switch (model_format_of(path)) {
    case ModelFormat::hugging_face:
      return open_hf_source(path, ExtraVocabRows::refuse);
    case ModelFormat::llmc:
      return open_llmc_source(path);
    case ModelFormat::checkpoint:
      break;
  }
  return std::make_unique<CheckpointWeights>(path);
}

std::unique_ptr<WeightSource> open_hf_source(const std::filesystem::path& folder, ExtraVocabRows extra_rows) {
  return std::make_unique<HfWeights>(folder, extra_rows);
}

std::unique_ptr<WeightSource> open_llmc_source(const std::filesystem::path& file) {
  return std::make_unique<LlmcWeights>(file);
}

void read_tensor(const WeightSource& source, const TensorSpec& tensor, std::vector<float>& values) {
  values.clear();
  values.reserve(static_cast<std::size_t>(tensor.elements));
  source.stream(
      tensor, [&](std::span<const float> piece) { values.insert(values.end(), piece.begin(), piece.end()); });
}

}  // namespace shardgpt
