#include "checkpoint/tensor_records.hpp"

#include <array>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_error.hpp"
#include "checkpoint/checksums.hpp"
#include "checkpoint/layout.hpp"
#include "checkpoint/text_columns.hpp"

namespace shardgpt {
namespace {

/// /tensors in memory.
struct TensorRecords {
  std::vector<std::string> names;
  std::vector<std::string> units;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> shapes;  ///< [tensors, 2]; a one-dimensional tensor has 0 in second place

  friend bool operator==(const TensorRecords&, const TensorRecords&) = default;
};

constexpr std::int64_t shape_columns = 2;

TensorRecords records_of(const TensorTable& table) {
  TensorRecords records;
  for (const TensorSpec& tensor : table.tensors()) {
    SHARDGPT_EXPECT(tensor.shape.size() <= 2);
    records.names.push_back(tensor.name);
    records.units.push_back(table.units()[static_cast<std::size_t>(tensor.unit)].name);
    records.offsets.push_back(tensor.offset);
    records.shapes.push_back(tensor.shape.at(0));
    records.shapes.push_back(tensor.shape.size() == 2 ? tensor.shape[1] : 0);
  }
  return records;
}

std::uint32_t checksum_of(const TensorRecords& records) {
  std::uint32_t crc = crc32_of_texts(records.names, 0);
  crc = crc32_of_texts(records.units, crc);
  crc = crc32_of(std::as_bytes(std::span(records.offsets)), crc);
  return crc32_of(std::as_bytes(std::span(records.shapes)), crc);
}

}  // namespace

std::uint32_t write_tensor_records(H5File& file, const TensorTable& table) {
  const TensorRecords records = records_of(table);
  const std::array dims = {static_cast<std::int64_t>(records.names.size()), shape_columns};
  file.create_group(layout::tensors);
  file.create_texts(layout::tensor_names, records.names, text_width(records.names));
  file.create_texts(layout::tensor_units, records.units, text_width(records.units));
  file.create_array<std::int64_t>(layout::tensor_offsets, std::span(dims).first(1), records.offsets);
  file.create_array<std::int64_t>(layout::tensor_shapes, dims, records.shapes);
  return checksum_of(records);
}

void check_tensor_records(const H5File& file, const TensorTable& table, std::uint32_t checksum) {
  const std::array dims = {static_cast<std::int64_t>(table.tensors().size()), shape_columns};
  const TensorRecords wanted = records_of(table);
  const TensorRecords found = {
      file.read_texts(layout::tensor_names, dims[0], layout::name_limit),
      file.read_texts(layout::tensor_units, dims[0], layout::name_limit),
      file.read_array<std::int64_t>(layout::tensor_offsets, std::span(dims).first(1)),
      file.read_array<std::int64_t>(layout::tensor_shapes, dims)};
  if (checksum_of(found) != checksum) {
    throw DamagedCheckpoint(file.path(), "the checksum of /tensors is wrong");
  }
  if (found != wanted) {
    throw DamagedCheckpoint(file.path(), "/tensors is not the table of the model in /config");
  }
}

}  // namespace shardgpt
