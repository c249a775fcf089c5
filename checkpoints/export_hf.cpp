#include <array>
#include <cstdio>
#include <vector>

#include "checkpoints/convert_command.hpp"
#include "checkpoints/output_folder.hpp"
#include "checkpoints/source_checkpoint.hpp"
#include "checkpoints/tokenizer_files.hpp"
#include "core/atomic_file.hpp"
#include "core/checked.hpp"
#include "core/error.hpp"
#include "hf/hf_config.hpp"
#include "hf/safetensors_writer.hpp"

namespace shardgpt {
namespace {

/// Tensors of the table, as indices, that go into one weight file.
using Part = std::vector<std::size_t>;

/// Cuts the table, in order, into parts of at most `limit` bytes; a tensor larger than that is alone in one.
std::vector<Part> cut_into_parts(const TensorTable& table, WeightType type, std::uint64_t limit) {
  std::vector<Part> parts(1);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < table.tensors().size(); ++i) {
    const std::uint64_t own = narrow<std::uint64_t>(table.tensors()[i].elements) * weight_type_bytes(type);
    if (!parts.back().empty() && bytes + own > limit) {
      parts.emplace_back();
      bytes = 0;
    }
    parts.back().push_back(i);
    bytes += own;
  }
  return parts;
}

std::string part_name(std::size_t part, std::size_t parts) {
  if (parts == 1) {
    return "model.safetensors";
  }
  std::array<char, 64> name{};
  const int length =
      std::snprintf(name.data(), name.size(), "model-%05zu-of-%05zu.safetensors", part + 1, parts);
  return {name.data(), static_cast<std::size_t>(length)};
}

void write_part(const SourceCheckpoint& source, const Part& part, WeightType type,
                const std::filesystem::path& file) {
  std::vector<SafetensorsTensor> tensors;
  for (const std::size_t index : part) {
    const TensorSpec& tensor = source.table().tensors()[index];
    tensors.push_back({tensor.name, tensor.shape, tensor.elements});
  }
  SafetensorsWriter writer(file, type, std::move(tensors));
  for (const std::size_t index : part) {
    const TensorSpec& tensor = source.table().tensors()[index];
    source.stream(tensor, StateKind::param,
                  [&](std::span<const float> values) { writer.append(tensor.name, values); });
  }
  writer.finish();
}

nlohmann::ordered_json index_json(const TensorTable& table, const std::vector<Part>& parts, WeightType type) {
  nlohmann::ordered_json json;
  json["metadata"]["total_size"] = narrow<std::uint64_t>(table.parameters()) * weight_type_bytes(type);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (const std::size_t index : parts[part]) {
      json["weight_map"][table.tensors()[index].name] = part_name(part, parts.size());
    }
  }
  return json;
}

void write_json(const std::filesystem::path& file, const nlohmann::ordered_json& json) {
  write_file_atomically(file, json.dump(2) + "\n");
}

}  // namespace

void export_to_hf(const ExportOptions& options, std::ostream& out) {
  SHARDGPT_REQUIRE(options.max_part_bytes > 0, "--max-part-size is 0, wanted at least one byte");
  const SourceCheckpoint source(options.checkpoint);
  PendingOutput output(options.output, PendingOutput::Kind::folder,
                       options.overwrite ? Overwrite::allow : Overwrite::refuse);
  output.require_space(
      checked_mul(source.table().parameters(), narrow<std::int64_t>(weight_type_bytes(options.dtype))));
  const ModelConfig& config = source.info().config;
  if (!options.tokenizer.empty()) {
    copy_tokenizer(options.tokenizer, output.path(), config);
  }
  write_json(output.path() / "config.json", hf_config_json(config, options.dtype));
  write_json(output.path() / "generation_config.json", hf_generation_json(config));
  const std::vector<Part> parts = cut_into_parts(source.table(), options.dtype, options.max_part_bytes);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    write_part(source, parts[part], options.dtype, output.path() / part_name(part, parts.size()));
  }
  if (parts.size() > 1) {
    write_json(output.path() / "model.safetensors.index.json",
               index_json(source.table(), parts, options.dtype));
  }
  output.publish();
  out << "wrote " << source.table().tensors().size() << " tensors, " << source.table().parameters()
      << " parameters as " << torch_name(options.dtype) << ", from " << source.info().path.string() << " to "
      << options.output.string() << '\n';
}

}  // namespace shardgpt
