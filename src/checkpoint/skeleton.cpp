#include "checkpoint/skeleton.hpp"

#include <array>

#include "checkpoint/config_json.hpp"
#include "checkpoint/layout.hpp"
#include "checkpoint/part_records.hpp"
#include "checkpoint/tensor_records.hpp"
#include "checkpoint/unit_datasets.hpp"

namespace shardgpt {
namespace {

void write_checksum(H5File& file, const char* name, std::uint32_t value) {
  file.create_array<std::uint32_t>(name, {}, std::span(&value, 1));
}

void write_json(H5File& file, const char* name, const char* checksum_name, const nlohmann::json& json) {
  const std::string text = json.dump();
  SHARDGPT_REQUIRE(static_cast<std::int64_t>(text.size()) <= layout::text_limit,
                   std::string("checkpoint: ") + name + " is longer than " +
                       std::to_string(layout::text_limit) + " bytes");
  file.create_text(name, text);
  write_checksum(file, checksum_name, crc32_of(text));
}

void write_tensor_checksums(H5File& file, const TensorChecksums& checksums) {
  const std::array dims = {static_cast<std::int64_t>(checksums.size())};
  for (const StateKind kind : state_kinds) {
    std::vector<std::uint32_t> values;
    for (const KindChecksums& of_tensor : checksums) {
      values.push_back(of_tensor[static_cast<std::size_t>(kind)]);
    }
    file.create_array<std::uint32_t>(layout::kind_checksums(kind), dims, values);
  }
}

/// What both kinds of checkpoint begin with.
void write_head(H5File& file, std::int32_t version, const TensorTable& table, const nlohmann::json& state,
                const TensorChecksums& checksums) {
  file.create_array<std::int32_t>(layout::format, {}, std::span(&version, 1));
  file.create_group(layout::checksums);
  write_json(file, layout::config, layout::config_checksum, config_to_json(table.config()));
  write_json(file, layout::state, layout::state_checksum, state);
  write_checksum(file, layout::table_checksum, write_tensor_records(file, table));
  write_tensor_checksums(file, checksums);
}

}  // namespace

H5File create_checkpoint_skeleton(const std::filesystem::path& path, const TensorTable& table,
                                  const nlohmann::json& state, const TensorChecksums& checksums,
                                  const H5CreateOptions& options) {
  H5File file = H5File::create(path, options);
  write_head(file, layout::version, table, state, checksums);
  file.create_group(layout::units);
  for (const UnitSpec& unit : table.units()) {
    create_unit_floats(file, unit.name, unit.elements);
  }
  return file;
}

H5File create_checkpoint_index(const std::filesystem::path& path, const TensorTable& table,
                               const nlohmann::json& state, const TensorChecksums& checksums,
                               const PartLayout& parts) {
  H5File file = H5File::create(path, {.virtual_datasets = true});
  write_head(file, layout::index_version, table, state, checksums);
  write_checksum(file, layout::parts_checksum, write_part_records(file, table, parts));
  file.create_group(layout::units);
  for (std::size_t unit = 0; unit < table.units().size(); ++unit) {
    const UnitSpec& spec = table.units()[unit];
    file.create_group(layout::unit_group(spec.name));
    for (const StateKind kind : state_kinds) {
      file.create_virtual_floats(layout::unit_dataset(spec.name, kind), spec.elements,
                                 virtual_runs(table, parts, static_cast<std::int64_t>(unit), kind));
    }
  }
  return file;
}

std::vector<H5VirtualRun> virtual_runs(const TensorTable& table, const PartLayout& parts, std::int64_t unit,
                                       StateKind kind) {
  const std::string dataset = layout::unit_dataset(table.units()[static_cast<std::size_t>(unit)].name, kind);
  std::vector<H5VirtualRun> runs;
  for (const PartRun& run : runs_of_unit(parts, unit)) {
    runs.push_back(
        {run.begin, run.count, parts.files[static_cast<std::size_t>(run.part)].name, dataset, run.offset});
  }
  return runs;
}

std::filesystem::path temporary_checkpoint_path(const std::filesystem::path& final_path) {
  return final_path.string() + ".tmp";
}

}  // namespace shardgpt
