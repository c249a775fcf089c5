#include "checkpoint/skeleton.hpp"

#include <array>

#include "checkpoint/config_json.hpp"
#include "checkpoint/layout.hpp"
#include "checkpoint/tensor_records.hpp"

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

}  // namespace

H5File create_checkpoint_skeleton(const std::filesystem::path& path, const TensorTable& table,
                                  const nlohmann::json& state, const TensorChecksums& checksums) {
  H5File file = H5File::create(path);
  file.create_array<std::int32_t>(layout::format, {}, std::span(&layout::version, 1));
  file.create_group(layout::checksums);
  write_json(file, layout::config, layout::config_checksum, config_to_json(table.config()));
  write_json(file, layout::state, layout::state_checksum, state);
  write_checksum(file, layout::table_checksum, write_tensor_records(file, table));
  write_tensor_checksums(file, checksums);
  file.create_group(layout::units);
  for (const UnitSpec& unit : table.units()) {
    file.create_group(layout::unit_group(unit.name));
    for (const StateKind kind : state_kinds) {
      file.create_floats(layout::unit_dataset(unit.name, kind), std::span(&unit.elements, 1));
    }
  }
  return file;
}

std::filesystem::path temporary_checkpoint_path(const std::filesystem::path& final_path) {
  return final_path.string() + ".tmp";
}

}  // namespace shardgpt
