#pragma once

#include <filesystem>
#include <string_view>

namespace shardgpt {

/// Makes `path` and what its folder says of it durable: fsync of the file, then of the folder.
/// Throws Error naming the path and the cause.
void sync_file(const std::filesystem::path& path);
void sync_folder(const std::filesystem::path& folder);

/// Writes `content` to `path` so that a reader sees the old file or the new one, never a part: temporary name
/// beside it, fsync, rename, fsync of the folder. Throws Error; the temporary file is then gone.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// Renames within one folder and makes the new name durable.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

/// The whole file as bytes. Throws InputError naming the path and the cause.
[[nodiscard]] std::string read_text_file(const std::filesystem::path& path);

}  // namespace shardgpt
