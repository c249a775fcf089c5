#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/layout.hpp"
#include "model/tensor_table.hpp"

namespace shardgpt {

/// CRC-32 (that of zlib, computed by libdeflate, which is faster) of `bytes`, going on from `start`, the CRC
/// of what comes before them.
[[nodiscard]] std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t start = 0);
[[nodiscard]] std::uint32_t crc32_of(std::span<const float> values, std::uint32_t start = 0);
[[nodiscard]] std::uint32_t crc32_of(const std::string& text, std::uint32_t start = 0);

/// CRC-32 of `bytes` zero bytes; takes no longer for many.
[[nodiscard]] std::uint32_t crc32_of_zeros(std::int64_t bytes);

/// One CRC-32 per kind of state.
using KindChecksums = std::array<std::uint32_t, state_kinds.size()>;
/// In table order.
using TensorChecksums = std::vector<KindChecksums>;

/// A run of elements of one tensor that one rank holds, and its checksums.
struct TensorFragment {
  std::int64_t tensor = 0;  ///< index into TensorTable::tensors()
  std::int64_t begin = 0;   ///< within the tensor
  std::int64_t count = 0;
  KindChecksums crc{};
};

/// Cuts elements [begin, begin + count) of a unit at the tensors' edges; checksums are left zero.
[[nodiscard]] std::vector<TensorFragment> fragments_of(const TensorTable& table, std::int64_t unit,
                                                       std::int64_t begin, std::int64_t count);

/// Whether two ranks may hold the same elements.
enum class Overlap { refuse, accept_equal };

/// The checksums of whole tensors from fragments in any order. Throws Error where they do not cover every
/// tensor exactly; with accept_equal the same run may come several times with the same checksums.
[[nodiscard]] TensorChecksums join_fragments(const TensorTable& table, std::vector<TensorFragment> fragments,
                                             Overlap overlap);

}  // namespace shardgpt
