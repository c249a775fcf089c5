#include "checkpoint/unit_datasets.hpp"

#include <span>
#include <vector>

#include "checkpoint/layout.hpp"

namespace shardgpt {

void create_unit_floats(H5File& file, const std::string& unit, std::int64_t elements) {
  file.create_group(layout::unit_group(unit));
  for (const StateKind kind : state_kinds) {
    file.create_floats(layout::unit_dataset(unit, kind), std::span(&elements, 1));
  }
}

bool is_plain_floats(const H5DatasetShape& shape, std::int64_t elements) {
  return shape.dims == std::vector{elements} && shape.is_float32 && shape.is_contiguous;
}

}  // namespace shardgpt
