#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/tensor_table.hpp"

namespace shardgpt {

/// A file with values of a checkpoint.
struct PartFile {
  std::string name;        ///< relative to the folder of the checkpoint
  std::int64_t bytes = 0;  ///< its size

  friend bool operator==(const PartFile&, const PartFile&) = default;
};

/// A run of elements of one unit, and where a part holds them: at `offset` of its dataset of the unit.
struct PartRun {
  std::int64_t part = 0;  ///< index into PartLayout::files
  std::int64_t unit = 0;  ///< index into TensorTable::units()
  std::int64_t begin = 0;
  std::int64_t count = 0;
  std::int64_t offset = 0;

  friend bool operator==(const PartRun&, const PartRun&) = default;
};

/// Which file holds which elements of a checkpoint; the same for all kinds of state.
struct PartLayout {
  std::string save_id;  ///< what all files of one save have in common; empty: a checkpoint in one file
  std::vector<PartFile> files;
  std::vector<PartRun> runs;  ///< in the order of units and elements; they cover every unit exactly

  [[nodiscard]] bool in_one_file() const { return save_id.empty(); }
  friend bool operator==(const PartLayout&, const PartLayout&) = default;
};

/// The layout of a checkpoint in one file: whole units, in `file` itself.
[[nodiscard]] PartLayout one_file_layout(const TensorTable& table, const std::filesystem::path& file);

/// Sorts the runs, which may touch but not overlap, joins those that follow each other in one part, and gives
/// each its offset: a part holds its elements of a unit in the order of the unit.
[[nodiscard]] std::vector<PartRun> pack_runs(std::vector<PartRun> runs);

/// Why `layout` cannot be of a checkpoint of `table`; empty where it can.
[[nodiscard]] std::string layout_problem(const TensorTable& table, const PartLayout& layout);

/// The runs of one unit.
[[nodiscard]] std::span<const PartRun> runs_of_unit(const PartLayout& layout, std::int64_t unit);
/// The runs of one part, in the order of the layout.
[[nodiscard]] std::vector<PartRun> runs_of_part(const PartLayout& layout, std::int64_t part);
/// How many elements of each unit a part holds, in the order of the units.
[[nodiscard]] std::vector<std::int64_t> elements_of_part(const TensorTable& table, const PartLayout& layout,
                                                         std::int64_t part);

/// For messages between ranks.
[[nodiscard]] nlohmann::json layout_to_json(const PartLayout& layout);
[[nodiscard]] PartLayout layout_from_json(const nlohmann::json& json);

}  // namespace shardgpt
