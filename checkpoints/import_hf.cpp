#include <algorithm>
#include <vector>

#include "checkpoint/skeleton.hpp"
#include "checkpoints/convert_command.hpp"
#include "checkpoints/output_folder.hpp"
#include "hf/hf_model.hpp"

namespace shardgpt {
namespace {

constexpr std::int64_t piece_elements = std::int64_t{1} << 22;  // 16 MiB

/// Calls work(begin, values) with consecutive pieces of a tensor of the source.
template <class Work>
void for_each_piece(const HfModel& model, const TensorSpec& tensor, Work&& work) {
  std::vector<float> values;
  for (std::int64_t done = 0; done < tensor.elements; done += piece_elements) {
    values.resize(static_cast<std::size_t>(std::min(piece_elements, tensor.elements - done)));
    model.read(tensor, done, values);
    work(done, std::span<const float>(values));
  }
}

/// CRC-32 of `count` zeros.
std::uint32_t zeros_crc(std::int64_t count) {
  const std::vector<float> zeros(static_cast<std::size_t>(std::min(count, piece_elements)));
  std::uint32_t crc = 0;
  for (std::int64_t done = 0; done < count; done += piece_elements) {
    const auto piece = static_cast<std::size_t>(std::min(piece_elements, count - done));
    crc = crc32_of(std::span<const float>(zeros).first(piece), crc);
  }
  return crc;
}

TensorChecksums source_checksums(const HfModel& model) {
  TensorChecksums checksums;
  for (const TensorSpec& tensor : model.table().tensors()) {
    const std::uint32_t moments = zeros_crc(tensor.elements);
    KindChecksums& own = checksums.emplace_back(KindChecksums{0, moments, moments});
    for_each_piece(model, tensor, [&](std::int64_t /*begin*/, std::span<const float> values) {
      own[0] = crc32_of(values, own[0]);
    });
  }
  return checksums;
}

nlohmann::json start_state(const std::filesystem::path& source) {
  return {{"step", 0},
          {"applied_updates", 0},
          {"origin", {{"format", "hugging-face"}, {"folder", source.string()}, {"moments", "zero"}}}};
}

}  // namespace

void import_from_hf(const ImportOptions& options, std::ostream& out) {
  const HfModel model(options.source, options.cut_vocab ? ExtraVocabRows::cut : ExtraVocabRows::refuse);
  PendingOutput output(options.output, PendingOutput::Kind::file,
                       options.overwrite ? Overwrite::allow : Overwrite::refuse);
  H5File file = create_checkpoint_skeleton(output.path(), model.table(), start_state(options.source),
                                           source_checksums(model));
  for (const TensorSpec& tensor : model.table().tensors()) {
    const UnitSpec& unit = model.table().units()[static_cast<std::size_t>(tensor.unit)];
    const std::string dataset = layout::unit_dataset(unit.name, StateKind::param);
    for_each_piece(model, tensor, [&](std::int64_t begin, std::span<const float> values) {
      file.write_floats(dataset, tensor.offset + begin, values);
    });
  }
  // The moments are zero: nothing is written where a new file reads as zeros.
  file.close();
  output.publish();
  out << "wrote " << model.table().tensors().size() << " tensors, " << model.table().parameters()
      << " parameters, from " << options.source.string() << " to " << options.output.string() << '\n';
}

}  // namespace shardgpt
