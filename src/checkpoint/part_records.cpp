#include "checkpoint/part_records.hpp"

#include <algorithm>
#include <array>

#include "checkpoint/checkpoint_error.hpp"
#include "checkpoint/checksums.hpp"
#include "checkpoint/layout.hpp"
#include "checkpoint/text_columns.hpp"
#include "checkpoint/unit_datasets.hpp"

namespace shardgpt {
namespace {

/// /runs in memory, a column each.
struct RunColumns {
  std::vector<std::int64_t> parts;
  std::vector<std::string> units;
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> offsets;

  friend bool operator==(const RunColumns&, const RunColumns&) = default;
};

RunColumns columns_of(const TensorTable& table, std::span<const PartRun> runs) {
  RunColumns columns;
  for (const PartRun& run : runs) {
    columns.parts.push_back(run.part);
    columns.units.push_back(table.units()[static_cast<std::size_t>(run.unit)].name);
    columns.begins.push_back(run.begin);
    columns.counts.push_back(run.count);
    columns.offsets.push_back(run.offset);
  }
  return columns;
}

/// Calls visit(name, values) for the columns of integers, in their order around the units.
template <class Columns, class Visit>
void for_each_number_column(Columns& columns, Visit&& visit) {
  visit(layout::run_parts, columns.parts);
  visit(layout::run_begins, columns.begins);
  visit(layout::run_counts, columns.counts);
  visit(layout::run_offsets, columns.offsets);
}

void write_runs(H5File& file, const RunColumns& columns) {
  const std::array dims = {static_cast<std::int64_t>(columns.units.size())};
  file.create_group(layout::runs);
  file.create_texts(layout::run_units, columns.units, text_width(columns.units));
  for_each_number_column(columns, [&](const char* name, const std::vector<std::int64_t>& values) {
    file.create_array<std::int64_t>(name, dims, values);
  });
}

/// The length of a one-dimensional dataset of a table, refused where it is out of all reason.
std::int64_t rows_of(const H5File& file, const char* name) {
  const std::vector<std::int64_t> dims = file.shape_of(name).dims;
  if (dims.size() != 1 || dims[0] < 1 || dims[0] > layout::part_table_limit) {
    throw DamagedCheckpoint(file.path(), std::string(name) + " is no table of 1 to " +
                                             std::to_string(layout::part_table_limit) + " rows");
  }
  return dims[0];
}

RunColumns read_runs(const H5File& file) {
  const std::array dims = {rows_of(file, layout::run_units)};
  RunColumns columns;
  columns.units = file.read_texts(layout::run_units, dims[0], layout::name_limit);
  for_each_number_column(columns, [&](const char* name, std::vector<std::int64_t>& values) {
    values = file.read_array<std::int64_t>(name, dims);
  });
  return columns;
}

std::uint32_t crc32_of_numbers(const std::vector<std::int64_t>& values, std::uint32_t start) {
  return crc32_of(std::as_bytes(std::span(values)), start);
}

std::uint32_t checksum_of(const std::string& save_id, const std::vector<std::string>& names,
                          const std::vector<std::int64_t>& bytes, const RunColumns& runs) {
  std::uint32_t crc = crc32_of(save_id);
  crc = crc32_of_texts(names, crc);
  crc = crc32_of_numbers(bytes, crc);
  crc = crc32_of_numbers(runs.parts, crc);
  crc = crc32_of_texts(runs.units, crc);
  crc = crc32_of_numbers(runs.begins, crc);
  crc = crc32_of_numbers(runs.counts, crc);
  return crc32_of_numbers(runs.offsets, crc);
}

std::vector<PartRun> runs_of(const H5File& file, const TensorTable& table, const RunColumns& columns) {
  std::vector<PartRun> runs;
  for (std::size_t i = 0; i < columns.units.size(); ++i) {
    const auto unit = std::ranges::find(table.units(), columns.units[i], &UnitSpec::name);
    if (unit == table.units().end()) {
      throw DamagedCheckpoint(file.path(), "/runs names the unit " + columns.units[i] +
                                               ", which the model in /config does not have");
    }
    runs.push_back({columns.parts[i], unit - table.units().begin(), columns.begins[i], columns.counts[i],
                    columns.offsets[i]});
  }
  return runs;
}

/// What a part says it is.
std::string part_text(const PartLayout& layout, std::int64_t part) {
  return nlohmann::json({{"save", layout.save_id}, {"part", part}, {"parts", layout.files.size()}}).dump();
}

/// What is wrong with a part that could be opened; empty where nothing is.
std::string part_problem(const H5File& file, const TensorTable& table, const PartLayout& layout,
                         std::int64_t part) {
  const std::string wanted = part_text(layout, part);
  const std::string found = file.read_text(layout::part_of, layout::text_limit);
  if (found != wanted) {
    return "it is of another save or another part: " + std::string(layout::part_of) + " is " + found +
           ", wanted " + wanted;
  }
  if (read_runs(file) != columns_of(table, runs_of_part(layout, part))) {
    return "its /runs are not those of the index";
  }
  const std::vector<std::int64_t> elements = elements_of_part(table, layout, part);
  for (std::size_t unit = 0; unit < elements.size(); ++unit) {
    for (const StateKind kind : state_kinds) {
      const std::string name = layout::unit_dataset(table.units()[unit].name, kind);
      if (elements[unit] > 0 && !is_plain_floats(file.shape_of(name), elements[unit])) {
        return name + " is not " + std::to_string(elements[unit]) +
               " contiguous little-endian float32 values";
      }
    }
  }
  return {};
}

}  // namespace

std::uint32_t write_part_records(H5File& index, const TensorTable& table, const PartLayout& layout) {
  std::vector<std::string> names;
  std::vector<std::int64_t> bytes;
  for (const PartFile& file : layout.files) {
    names.push_back(file.name);
    bytes.push_back(file.bytes);
  }
  const std::array dims = {static_cast<std::int64_t>(names.size())};
  index.create_group(layout::parts);
  index.create_text(layout::part_save, layout.save_id);
  index.create_texts(layout::part_names, names, text_width(names));
  index.create_array<std::int64_t>(layout::part_bytes, dims, bytes);
  const RunColumns runs = columns_of(table, layout.runs);
  write_runs(index, runs);
  return checksum_of(layout.save_id, names, bytes, runs);
}

PartLayout read_part_records(const H5File& index, const TensorTable& table) {
  const std::array dims = {rows_of(index, layout::part_bytes)};
  PartLayout parts;
  parts.save_id = read_save_id(index);
  const auto names = index.read_texts(layout::part_names, dims[0], layout::name_limit);
  const auto bytes = index.read_array<std::int64_t>(layout::part_bytes, dims);
  const RunColumns runs = read_runs(index);
  const auto stored = index.read_array<std::uint32_t>(layout::parts_checksum, {}).at(0);
  if (checksum_of(parts.save_id, names, bytes, runs) != stored) {
    throw DamagedCheckpoint(index.path(), "the checksum of /parts and /runs is wrong");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    parts.files.push_back({names[i], bytes[i]});
  }
  parts.runs = runs_of(index, table, runs);
  const std::string problem = layout_problem(table, parts);
  if (!problem.empty()) {
    throw DamagedCheckpoint(index.path(), "/runs: " + problem);
  }
  return parts;
}

std::string read_save_id(const H5File& index) {
  return index.read_text(layout::part_save, static_cast<std::int64_t>(layout::name_limit));
}

H5File create_part(const std::filesystem::path& path, const TensorTable& table, const PartLayout& layout,
                   std::int64_t part, const H5CreateOptions& options) {
  H5File file = H5File::create(path, options);
  file.create_text(layout::part_of, part_text(layout, part));
  write_runs(file, columns_of(table, runs_of_part(layout, part)));
  file.create_group(layout::units);
  const std::vector<std::int64_t> elements = elements_of_part(table, layout, part);
  for (std::size_t unit = 0; unit < elements.size(); ++unit) {
    if (elements[unit] > 0) {
      create_unit_floats(file, table.units()[unit].name, elements[unit]);
    }
  }
  return file;
}

void check_part(const std::filesystem::path& index, const TensorTable& table, const PartLayout& layout,
                std::int64_t part) {
  const PartFile& wanted = layout.files[static_cast<std::size_t>(part)];
  const std::filesystem::path path = index.parent_path() / wanted.name;
  const auto damaged = [&](const std::string& problem) {
    return DamagedCheckpoint(index, "part " + path.string() + ": " + problem);
  };
  if (!std::filesystem::exists(path)) {
    throw damaged("it is missing");
  }
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
  if (bytes != wanted.bytes) {
    throw damaged("it has " + std::to_string(bytes) + " bytes, wanted " + std::to_string(wanted.bytes));
  }
  std::string problem;
  try {
    problem = part_problem(H5File::open(path, H5File::Access::read), table, layout, part);
  } catch (const H5Error& error) {
    if (error.cause() != H5Error::Cause::content) {
      throw;
    }
    problem = error.what();
  } catch (const DamagedCheckpoint& error) {
    problem = error.what();
  }
  if (!problem.empty()) {
    throw damaged(problem);
  }
}

}  // namespace shardgpt
