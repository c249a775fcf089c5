#pragma once

#include <cstdint>
#include <string>

#include "h5/h5_file.hpp"

namespace shardgpt {

/// Creates /units/UNIT with one dataset of `elements` values, unfilled, for each kind of state.
void create_unit_floats(H5File& file, const std::string& unit, std::int64_t elements);

/// Whether a dataset is one run of `elements` little-endian float32 values in its own file.
[[nodiscard]] bool is_plain_floats(const H5DatasetShape& shape, std::int64_t elements);

}  // namespace shardgpt
