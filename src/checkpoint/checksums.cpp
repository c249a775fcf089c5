#include "checkpoint/checksums.hpp"

#include <algorithm>
#include <tuple>

#include <libdeflate.h>
#include <zlib.h>

#include "core/error.hpp"

namespace shardgpt {
namespace {

std::string run_text(const TensorTable& table, const TensorFragment& fragment) {
  return table.tensors()[static_cast<std::size_t>(fragment.tensor)].name + ": elements " +
         std::to_string(fragment.begin) + " to " + std::to_string(fragment.begin + fragment.count);
}

bool same_run(const TensorFragment& a, const TensorFragment& b) {
  return a.tensor == b.tensor && a.begin == b.begin && a.count == b.count;
}

/// Joins the sorted fragments of one tensor.
KindChecksums join_tensor(const TensorTable& table, std::int64_t tensor,
                          std::span<const TensorFragment> fragments) {
  const TensorSpec& spec = table.tensors()[static_cast<std::size_t>(tensor)];
  KindChecksums joined{};
  std::int64_t covered = 0;
  for (const TensorFragment& fragment : fragments) {
    if (fragment.begin != covered) {
      throw Error("the ranks' pieces do not fit: " + run_text(table, fragment) + " follow element " +
                  std::to_string(covered));
    }
    for (std::size_t kind = 0; kind < joined.size(); ++kind) {
      joined[kind] = static_cast<std::uint32_t>(
          crc32_combine(joined[kind], fragment.crc[kind],
                        static_cast<z_off_t>(fragment.count * static_cast<std::int64_t>(sizeof(float)))));
    }
    covered += fragment.count;
  }
  if (covered != spec.elements) {
    throw Error("the ranks' pieces do not fit: " + spec.name + " has " + std::to_string(spec.elements) +
                " elements, the ranks hold " + std::to_string(covered));
  }
  return joined;
}

}  // namespace

std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t start) {
  // A null pointer stands for the start value there.
  return bytes.empty() ? start : libdeflate_crc32(start, bytes.data(), bytes.size());
}

std::uint32_t crc32_of(std::span<const float> values, std::uint32_t start) {
  return values.empty() ? start : crc32_of(std::as_bytes(values), start);
}

std::uint32_t crc32_of(const std::string& text, std::uint32_t start) {
  return crc32_of(std::as_bytes(std::span(text)), start);
}

std::uint32_t crc32_of_zeros(std::int64_t bytes) {
  const Bytef zero = 0;
  uLong run = crc32(0, &zero, 1);  // of 2^i zeros
  uLong crc = 0;
  std::int64_t length = 1;
  for (std::int64_t rest = bytes; rest > 0; rest /= 2) {
    if (rest % 2 != 0) {
      crc = crc32_combine(crc, run, static_cast<z_off_t>(length));
    }
    run = crc32_combine(run, run, static_cast<z_off_t>(length));
    length *= 2;
  }
  return static_cast<std::uint32_t>(crc);
}

std::vector<TensorFragment> fragments_of(const TensorTable& table, std::int64_t unit, std::int64_t begin,
                                         std::int64_t count) {
  const UnitSpec& spec = table.units()[static_cast<std::size_t>(unit)];
  std::vector<TensorFragment> fragments;
  for (std::int64_t i = 0; i < spec.tensor_count; ++i) {
    const std::int64_t index = spec.first_tensor + i;
    const TensorSpec& tensor = table.tensors()[static_cast<std::size_t>(index)];
    const std::int64_t first = std::max(begin, tensor.offset);
    const std::int64_t last = std::min(begin + count, tensor.offset + tensor.elements);
    if (first < last) {
      fragments.push_back({index, first - tensor.offset, last - first, {}});
    }
  }
  return fragments;
}

TensorChecksums join_fragments(const TensorTable& table, std::vector<TensorFragment> fragments,
                               Overlap overlap) {
  std::ranges::sort(fragments, {}, [](const TensorFragment& fragment) {
    return std::tuple(fragment.tensor, fragment.begin, fragment.count);
  });
  if (overlap == Overlap::accept_equal) {
    for (std::size_t i = 1; i < fragments.size(); ++i) {
      if (same_run(fragments[i - 1], fragments[i]) && fragments[i - 1].crc != fragments[i].crc) {
        throw Error("two ranks read unlike values of " + run_text(table, fragments[i]));
      }
    }
    fragments.erase(std::unique(fragments.begin(), fragments.end(), same_run), fragments.end());
  }
  TensorChecksums checksums;
  for (std::int64_t tensor = 0; tensor < static_cast<std::int64_t>(table.tensors().size()); ++tensor) {
    const auto first = std::ranges::lower_bound(fragments, tensor, {}, &TensorFragment::tensor);
    const auto last = std::ranges::upper_bound(fragments, tensor, {}, &TensorFragment::tensor);
    checksums.push_back(join_tensor(table, tensor, {first, last}));
  }
  return checksums;
}

}  // namespace shardgpt
