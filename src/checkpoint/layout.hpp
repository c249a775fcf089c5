#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace shardgpt {

/// What is stored of every parameter.
enum class StateKind : std::uint8_t { param, adam_m, adam_v };
inline constexpr std::array state_kinds = {StateKind::param, StateKind::adam_m, StateKind::adam_v};

/// "param", "adam_m" or "adam_v", as in the file.
[[nodiscard]] std::string_view state_kind_name(StateKind kind);

/// Names and constants of the file; docs/checkpoint-format.md describes them for readers without this code.
namespace layout {

/// Raised whenever an older reader would misread a file.
inline constexpr std::int32_t version = 1;
/// An index of a checkpoint in several files.
inline constexpr std::int32_t index_version = 2;

inline constexpr const char* format = "/format";
inline constexpr const char* config = "/config";
inline constexpr const char* state = "/state";
inline constexpr const char* units = "/units";
inline constexpr const char* tensors = "/tensors";
inline constexpr const char* tensor_names = "/tensors/name";
inline constexpr const char* tensor_units = "/tensors/unit";
inline constexpr const char* tensor_offsets = "/tensors/offset";
inline constexpr const char* tensor_shapes = "/tensors/shape";
inline constexpr const char* part_of = "/part_of";  // of parts only
inline constexpr const char* parts = "/parts";
inline constexpr const char* part_save = "/parts/save";
inline constexpr const char* part_names = "/parts/name";
inline constexpr const char* part_bytes = "/parts/bytes";
inline constexpr const char* runs = "/runs";
inline constexpr const char* run_parts = "/runs/part";
inline constexpr const char* run_units = "/runs/unit";
inline constexpr const char* run_begins = "/runs/begin";
inline constexpr const char* run_counts = "/runs/count";
inline constexpr const char* run_offsets = "/runs/offset";
inline constexpr const char* checksums = "/checksums";
inline constexpr const char* config_checksum = "/checksums/config";
inline constexpr const char* state_checksum = "/checksums/state";
inline constexpr const char* table_checksum = "/checksums/table";
inline constexpr const char* parts_checksum = "/checksums/parts";

/// Longest accepted name of a tensor or unit, and longest JSON text, in bytes.
inline constexpr std::size_t name_limit = 256;
inline constexpr std::int64_t text_limit = std::int64_t{1} << 28;
/// Most rows of /parts and /runs that a reader accepts.
inline constexpr std::int64_t part_table_limit = 10'000'000;

[[nodiscard]] std::string unit_group(const std::string& unit);                    // "/units/h.0"
[[nodiscard]] std::string unit_dataset(const std::string& unit, StateKind kind);  // "/units/h.0/param"
[[nodiscard]] std::string kind_checksums(StateKind kind);                         // "/checksums/param"

}  // namespace layout
}  // namespace shardgpt
