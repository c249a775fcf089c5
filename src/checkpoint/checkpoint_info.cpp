#include "checkpoint/checkpoint_info.hpp"

#include <array>

#include "checkpoint/checkpoint_error.hpp"
#include "checkpoint/config_json.hpp"
#include "checkpoint/layout.hpp"
#include "checkpoint/part_records.hpp"
#include "checkpoint/skeleton.hpp"
#include "checkpoint/tensor_records.hpp"
#include "checkpoint/unit_datasets.hpp"
#include "core/checked.hpp"
#include "h5/h5_version.hpp"

namespace shardgpt {
namespace {

std::uint32_t read_checksum(const H5File& file, const char* name) {
  return file.read_array<std::uint32_t>(name, {}).at(0);
}

/// The layout version, one of those this program knows.
std::int32_t read_version(const H5File& file) {
  SHARDGPT_REQUIRE(!file.contains(layout::part_of),
                   file.path().string() +
                       " is one part of a checkpoint in several files: name the index, which "
                       "lies beside the folder of the parts and ends in .h5");
  if (!file.contains(layout::format)) {
    throw DamagedCheckpoint(file.path(), std::string("it has no dataset ") + layout::format +
                                             ", so shardgpt did not write it whole");
  }
  const std::int32_t version = file.read_array<std::int32_t>(layout::format, {}).at(0);
  SHARDGPT_REQUIRE(version == layout::version || version == layout::index_version,
                   "checkpoint " + file.path().string() + " has layout version " + std::to_string(version) +
                       ", this program reads versions " + std::to_string(layout::version) + " and " +
                       std::to_string(layout::index_version) +
                       "; use the program that wrote it or a newer one");
  return version;
}

nlohmann::json read_json(const H5File& file, const char* name, const char* checksum_name) {
  const std::string text = file.read_text(name, layout::text_limit);
  if (crc32_of(text) != read_checksum(file, checksum_name)) {
    throw DamagedCheckpoint(file.path(), std::string("the checksum of ") + name + " is wrong");
  }
  return nlohmann::json::parse(text);
}

void require_plain_units(const H5File& file, const TensorTable& table) {
  for (const UnitSpec& unit : table.units()) {
    for (const StateKind kind : state_kinds) {
      const std::string name = layout::unit_dataset(unit.name, kind);
      if (!is_plain_floats(file.shape_of(name), unit.elements)) {
        throw DamagedCheckpoint(file.path(), name + " is not " + std::to_string(unit.elements) +
                                                 " contiguous little-endian float32 values");
      }
    }
  }
}

/// The virtual datasets are for other programs; they must show what this one reads from the parts.
void require_virtual_units(const H5File& file, const TensorTable& table, const PartLayout& parts) {
  for (std::size_t unit = 0; unit < table.units().size(); ++unit) {
    const UnitSpec& spec = table.units()[unit];
    for (const StateKind kind : state_kinds) {
      const std::string name = layout::unit_dataset(spec.name, kind);
      const H5DatasetShape shape = file.shape_of(name);
      if (shape.dims != std::vector{spec.elements} || !shape.is_float32 ||
          file.virtual_runs_of(name) != virtual_runs(table, parts, static_cast<std::int64_t>(unit), kind)) {
        throw DamagedCheckpoint(file.path(), name + " does not refer to the parts as /runs says");
      }
    }
  }
}

PartLayout read_layout(const H5File& file, const TensorTable& table, std::int32_t version) {
  if (version == layout::version) {
    require_plain_units(file, table);
    return one_file_layout(table, file.path());
  }
  PartLayout parts = read_part_records(file, table);
  require_virtual_units(file, table, parts);
  for (std::size_t part = 0; part < parts.files.size(); ++part) {
    check_part(file.path(), table, parts, static_cast<std::int64_t>(part));
  }
  return parts;
}

CheckpointInfo read_open_file(const H5File& file) {
  const std::int32_t version = read_version(file);
  CheckpointInfo info{config_from_json(read_json(file, layout::config, layout::config_checksum)),
                      read_json(file, layout::state, layout::state_checksum),
                      file.path(),
                      {}};
  const TensorTable table(info.config);
  check_tensor_records(file, table, read_checksum(file, layout::table_checksum));
  (void)read_tensor_checksums(file, table);
  info.parts = read_layout(file, table, version);
  return info;
}

}  // namespace

CheckpointInfo read_checkpoint_info(const std::filesystem::path& path) {
  try {
    return read_open_file(H5File::open(path, H5File::Access::read));
  } catch (const H5Error& error) {
    if (error.cause() != H5Error::Cause::content) {
      throw;
    }
    throw DamagedCheckpoint(path, error.what());
  } catch (const nlohmann::json::exception& error) {
    throw DamagedCheckpoint(path, error.what());
  } catch (const std::overflow_error& error) {
    throw DamagedCheckpoint(path, error.what());
  }
}

std::filesystem::path part_path(const CheckpointInfo& info, std::int64_t part) {
  return info.path.parent_path() / info.parts.files[static_cast<std::size_t>(part)].name;
}

std::uintmax_t stored_bytes(const CheckpointInfo& info) {
  std::uintmax_t bytes = std::filesystem::file_size(info.path);
  for (std::size_t part = 0; !info.parts.in_one_file() && part < info.parts.files.size(); ++part) {
    bytes += std::filesystem::file_size(part_path(info, static_cast<std::int64_t>(part)));
  }
  return bytes;
}

std::string hdf5_version() {
  return h5_library_version();
}

TensorChecksums read_tensor_checksums(const H5File& file, const TensorTable& table) {
  const std::array dims = {static_cast<std::int64_t>(table.tensors().size())};
  TensorChecksums checksums(table.tensors().size());
  for (const StateKind kind : state_kinds) {
    const auto values = file.read_array<std::uint32_t>(layout::kind_checksums(kind), dims);
    for (std::size_t i = 0; i < values.size(); ++i) {
      checksums[i][static_cast<std::size_t>(kind)] = values[i];
    }
  }
  return checksums;
}

std::string checksum_difference(const TensorTable& table, const TensorChecksums& found,
                                const TensorChecksums& stored, std::size_t kinds) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      if (found[i][kind] != stored[i][kind]) {
        return "the checksum of " + std::string(state_kind_name(state_kinds[kind])) + " of " +
               table.tensors()[i].name + " is wrong";
      }
    }
  }
  return {};
}

}  // namespace shardgpt
