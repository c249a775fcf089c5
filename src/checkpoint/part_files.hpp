#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace shardgpt {

// Names and clearing away of checkpoints in several files. The parts of an index a.h5 lie beside it in the
// folder a.parts-ID, whose ID no other save has: a save never touches the files of an earlier one, and a
// folder belongs to a checkpoint only while an index says so. Everything here is local: one rank acts for
// all.

/// An ID for a new save: 16 hexadecimal digits, at random.
[[nodiscard]] std::string new_save_id();

/// The folder of the parts of one save.
[[nodiscard]] std::filesystem::path parts_folder(const std::filesystem::path& index,
                                                 const std::string& save_id);
/// The name of that folder while the parts are written.
[[nodiscard]] std::filesystem::path temporary_parts_folder(const std::filesystem::path& index,
                                                           const std::string& save_id);
/// "part_0007.h5"
[[nodiscard]] std::string part_file_name(std::int64_t part);

/// Whether `name` is that of a folder of parts, finished or (`temporary`) not.
enum class PartsFolder { none, finished, temporary };
[[nodiscard]] PartsFolder parts_folder_kind(const std::string& name);

/// Removes a checkpoint, the index first and then its parts.
void remove_checkpoint(const std::filesystem::path& index);

/// Removes the finished folders of parts to which neither the index nor one that was set aside as damaged
/// refers. Where one of them cannot be read all folders stay: it may be the owner.
void remove_orphan_parts(const std::filesystem::path& index);

/// The index that a folder of parts would belong to.
[[nodiscard]] std::filesystem::path index_of_parts(const std::filesystem::path& folder);

}  // namespace shardgpt
