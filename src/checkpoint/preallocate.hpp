#pragma once

#include <filesystem>

namespace shardgpt {

/// Reserves the space of every byte of `path` up to its present size (posix_fallocate), so that lack of space
/// is found here. Throws Error naming the file, the bytes wanted and the bytes free.
void preallocate(const std::filesystem::path& path);

}  // namespace shardgpt
