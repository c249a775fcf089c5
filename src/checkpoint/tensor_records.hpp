#pragma once

#include <cstdint>

#include "h5/h5_file.hpp"
#include "model/tensor_table.hpp"

namespace shardgpt {

/// Writes /tensors: one-dimensional datasets in table order. Returns the CRC-32 that /checksums/table holds:
/// that of the bytes of name, unit, offset and shape, in this order.
std::uint32_t write_tensor_records(H5File& file, const TensorTable& table);

/// Reads /tensors, checks it against `checksum` and against `table`. Throws DamagedCheckpoint.
void check_tensor_records(const H5File& file, const TensorTable& table, std::uint32_t checksum);

}  // namespace shardgpt
