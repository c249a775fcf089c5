#include "checkpoint/verify.hpp"

#include <algorithm>

#include "checkpoint/value_reader.hpp"
#include "h5/h5_file.hpp"

namespace shardgpt {
namespace {

constexpr std::int64_t piece_elements = std::int64_t{1} << 22;

std::uint32_t stored_values_crc(ValueReader& values, const TensorSpec& tensor, StateKind kind,
                                std::vector<float>& buffer) {
  std::uint32_t crc = 0;
  for (std::int64_t done = 0; done < tensor.elements; done += piece_elements) {
    buffer.resize(static_cast<std::size_t>(std::min(piece_elements, tensor.elements - done)));
    values.read(tensor.unit, kind, tensor.offset + done, buffer);
    crc = crc32_of(std::span<const float>(buffer), crc);
  }
  return crc;
}

}  // namespace

std::vector<std::string> verify_tensors(const CheckpointInfo& info) {
  const TensorTable table(info.config);
  const H5File file = H5File::open(info.path, H5File::Access::read);
  const TensorChecksums stored = read_tensor_checksums(file, table);
  ValueReader values(info, table);
  std::vector<std::string> problems;
  std::vector<float> buffer;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const TensorSpec& tensor = table.tensors()[i];
    const std::string& unit = table.units()[static_cast<std::size_t>(tensor.unit)].name;
    for (const StateKind kind : state_kinds) {
      const std::string dataset = layout::unit_dataset(unit, kind);
      if (stored_values_crc(values, tensor, kind, buffer) != stored[i][static_cast<std::size_t>(kind)]) {
        problems.push_back("the checksum of " + std::string(state_kind_name(kind)) + " of " + tensor.name +
                           " is wrong (elements " + std::to_string(tensor.offset) + " to " +
                           std::to_string(tensor.offset + tensor.elements) + " of " + dataset + ")");
      }
    }
  }
  return problems;
}

}  // namespace shardgpt
