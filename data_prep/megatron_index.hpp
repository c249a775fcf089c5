#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data_prep/integer_file.hpp"

namespace shardgpt {

/// The index of a Megatron-LM data set: NAME.idx beside NAME.bin.
struct MegatronIndex {
  IntegerFile::Type type = IntegerFile::Type::u16;
  std::vector<std::int32_t> lengths;    ///< [sequences] tokens
  std::vector<std::int64_t> offsets;    ///< [sequences] bytes into NAME.bin
  std::vector<std::int64_t> documents;  ///< [documents + 1] number of the first sequence
};

/// Throws InputError naming file, field and byte where the index is damaged, or of a kind that has no meaning
/// here, or names what lies outside a NAME.bin of `bin_bytes`.
[[nodiscard]] MegatronIndex read_megatron_index(const std::filesystem::path& path, std::int64_t bin_bytes);

/// The index's bytes for sequences that lie one behind the other.
[[nodiscard]] std::string make_megatron_index(bool wide, std::span<const std::int32_t> lengths,
                                              std::span<const std::int64_t> documents);

}  // namespace shardgpt
