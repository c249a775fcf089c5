#include "checkpoints/start_checkpoint.hpp"

#include <algorithm>
#include <vector>

#include "checkpoint/skeleton.hpp"

namespace shardgpt {
namespace {

TensorChecksums checksums_of(const WeightSource& source) {
  TensorChecksums checksums;
  for (const TensorSpec& tensor : source.table().tensors()) {
    const std::uint32_t moments = crc32_of_zeros(tensor.elements * static_cast<std::int64_t>(sizeof(float)));
    KindChecksums& own = checksums.emplace_back(KindChecksums{0, moments, moments});
    source.stream(tensor, [&](std::span<const float> values) { own[0] = crc32_of(values, own[0]); });
  }
  return checksums;
}

}  // namespace

void write_start_checkpoint(const WeightSource& source, const nlohmann::json& origin,
                            const std::filesystem::path& output, Overwrite overwrite) {
  const TensorTable& table = source.table();
  PendingOutput pending(output, PendingOutput::Kind::file, overwrite);
  pending.require_space(table.parameters() * static_cast<std::int64_t>(sizeof(float)));
  const nlohmann::json state = {{"step", 0}, {"applied_updates", 0}, {"origin", origin}};
  H5File file = create_checkpoint_skeleton(pending.path(), table, state, checksums_of(source));
  for (const TensorSpec& tensor : table.tensors()) {
    const UnitSpec& unit = table.units()[static_cast<std::size_t>(tensor.unit)];
    const std::string dataset = layout::unit_dataset(unit.name, StateKind::param);
    std::int64_t at = tensor.offset;
    source.stream(tensor, [&](std::span<const float> values) {
      file.write_floats(dataset, at, values);
      at += static_cast<std::int64_t>(values.size());
    });
  }
  // The moments are zero: nothing is written where a new file reads as zeros.
  file.close();
  pending.publish();
}

}  // namespace shardgpt
