#pragma once

#include <cstdint>

#include "checkpoint/part_layout.hpp"
#include "h5/h5_file.hpp"
#include "model/tensor_table.hpp"

namespace shardgpt {

/// Writes /parts and /runs of an index file. Returns the CRC-32 that /checksums/parts holds: that of the
/// bytes of /parts/save, name, bytes and of /runs/part, unit, begin, count, offset, in this order.
std::uint32_t write_part_records(H5File& index, const TensorTable& table, const PartLayout& layout);

/// Reads them and checks them against /checksums/parts and `table`. Throws DamagedCheckpoint, H5Error.
[[nodiscard]] PartLayout read_part_records(const H5File& index, const TensorTable& table);

/// What identifies a save, for an index whose other content does not matter. Throws H5Error.
[[nodiscard]] std::string read_save_id(const H5File& index);

/// Creates a part with the runs it holds and the space of its values, unfilled. Local; `path` must not exist.
/// The caller closes.
[[nodiscard]] H5File create_part(const std::filesystem::path& path, const TensorTable& table,
                                 const PartLayout& layout, std::int64_t part, const H5CreateOptions& options);

/// Checks everything of one part but its values: that it is there, of the right size, of the same save, and
/// shaped as `layout` says. Throws DamagedCheckpoint naming `index` and the part; H5Error where the system
/// refuses.
void check_part(const std::filesystem::path& index, const TensorTable& table, const PartLayout& layout,
                std::int64_t part);

}  // namespace shardgpt
