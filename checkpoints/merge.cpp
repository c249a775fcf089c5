#include <vector>

#include "checkpoint/config_json.hpp"
#include "checkpoints/convert_command.hpp"
#include "checkpoints/output_folder.hpp"
#include "checkpoints/source_checkpoint.hpp"
#include "hf/safetensors_writer.hpp"

namespace shardgpt {
namespace {

/// Parameters keep their name; moments get their kind in front: "adam_m.transformer.wte.weight".
std::string merged_name(const TensorSpec& tensor, StateKind kind) {
  return kind == StateKind::param ? tensor.name : std::string(state_kind_name(kind)) + "." + tensor.name;
}

/// Calls work(tensor, kind) for all that goes into the file.
template <class Work>
void for_each_merged(const SourceCheckpoint& source, bool optimizer, Work&& work) {
  for (const StateKind kind : state_kinds) {
    if (kind != StateKind::param && !optimizer) {
      continue;
    }
    for (const TensorSpec& tensor : source.table().tensors()) {
      work(tensor, kind);
    }
  }
}

void merge_to_safetensors(const SourceCheckpoint& source, bool optimizer, const std::filesystem::path& file) {
  std::vector<SafetensorsTensor> tensors;
  for_each_merged(source, optimizer, [&](const TensorSpec& tensor, StateKind kind) {
    tensors.push_back({merged_name(tensor, kind), tensor.shape, tensor.elements});
  });
  SafetensorsWriter writer(file, WeightType::f32, std::move(tensors),
                           {{"shardgpt_config", config_to_json(source.info().config).dump()},
                            {"shardgpt_state", source.info().state.dump()}});
  for_each_merged(source, optimizer, [&](const TensorSpec& tensor, StateKind kind) {
    source.stream(tensor, kind,
                  [&](std::span<const float> values) { writer.append(merged_name(tensor, kind), values); });
  });
  writer.finish();
}

void merge_to_h5(const SourceCheckpoint& source, bool optimizer, const std::filesystem::path& path) {
  H5File file = H5File::create(path);
  file.create_text(layout::config, config_to_json(source.info().config).dump());
  file.create_text(layout::state, source.info().state.dump());
  for_each_merged(source, optimizer, [&](const TensorSpec& tensor, StateKind kind) {
    const std::string name = merged_name(tensor, kind);  // in the root group
    file.create_floats(name, tensor.shape);
    std::int64_t begin = 0;
    source.stream(tensor, kind, [&](std::span<const float> values) {
      file.write_floats(name, begin, values);
      begin += static_cast<std::int64_t>(values.size());
    });
  });
  file.close();
}

}  // namespace

void merge_checkpoint(const MergeOptions& options, std::ostream& out) {
  const std::string ending = options.output.extension().string();
  SHARDGPT_REQUIRE(ending == ".safetensors" || ending == ".h5",
                   "output " + options.output.string() + ": its name must end in .safetensors or .h5");
  const SourceCheckpoint source(options.checkpoint);
  PendingOutput output(options.output, PendingOutput::Kind::file,
                       options.overwrite ? Overwrite::allow : Overwrite::refuse);
  const std::int64_t kinds = options.optimizer ? state_kinds.size() : 1;
  output.require_space(kinds * source.table().parameters() * static_cast<std::int64_t>(sizeof(float)));
  if (ending == ".h5") {
    merge_to_h5(source, options.optimizer, output.path());
  } else {
    merge_to_safetensors(source, options.optimizer, output.path());
  }
  output.publish();
  out << "merged " << source.info().path.string() << " into " << options.output.string() << '\n';
}

}  // namespace shardgpt
