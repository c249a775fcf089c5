#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "hf/hf_model.hpp"
#include "hf/weight_type.hpp"
#include "model/tensor_table.hpp"

namespace shardgpt {

/// The forms in which a model is kept. Commands that only read weights take any of them.
enum class ModelFormat { checkpoint, hugging_face, llmc };

/// "checkpoint", "hugging-face" or "llm.c".
[[nodiscard]] std::string_view model_format_name(ModelFormat format);

/// What `path` is, by its first bytes or, for a folder, its content: a config.json makes it a Hugging Face
/// folder, anything else may be a run folder. Throws InputError where there is nothing or something else.
[[nodiscard]] ModelFormat model_format_of(const std::filesystem::path& path);

/// The weights of one model, read tensor by tensor. Reading holds one piece, for llm.c's files one tensor.
class WeightSource {
 public:
  using Consume = std::function<void(std::span<const float>)>;

  virtual ~WeightSource() = default;
  [[nodiscard]] virtual const TensorTable& table() const = 0;
  /// The file or folder that is read, for messages.
  [[nodiscard]] virtual std::filesystem::path path() const = 0;
  /// Element type in which `tensor` is stored.
  [[nodiscard]] virtual WeightType type_of(const TensorSpec& tensor) const = 0;
  /// Calls consume(values) with consecutive pieces of a tensor of the table, in its order and layout, exactly
  /// as stored. Throws InputError where the file is damaged or cut short, perhaps after the last piece.
  virtual void stream(const TensorSpec& tensor, const Consume& consume) const = 0;
};

/// Opens what model_format_of finds. Throws InputError for a model that is incomplete or not supported.
[[nodiscard]] std::unique_ptr<WeightSource> open_weight_source(const std::filesystem::path& path);
[[nodiscard]] std::unique_ptr<WeightSource> open_hf_source(const std::filesystem::path& folder,
                                                           ExtraVocabRows extra_rows);
[[nodiscard]] std::unique_ptr<WeightSource> open_llmc_source(const std::filesystem::path& file);

/// A whole tensor. `values` is resized to its elements.
void read_tensor(const WeightSource& source, const TensorSpec& tensor, std::vector<float>& values);

}  // namespace shardgpt
