#include "checkpoint/value_reader.hpp"

#include <algorithm>

namespace shardgpt {
namespace {

constexpr std::size_t most_open_files = 16;

}  // namespace

void ValueReader::read(std::int64_t unit, StateKind kind, std::int64_t begin, std::span<float> values) {
  const std::string dataset = layout::unit_dataset(table_.units()[static_cast<std::size_t>(unit)].name, kind);
  const std::int64_t end = begin + static_cast<std::int64_t>(values.size());
  for (const PartRun& run : runs_of_unit(info_.parts, unit)) {
    const std::int64_t first = std::max(begin, run.begin);
    const std::int64_t last = std::min(end, run.begin + run.count);
    if (first < last) {
      open_part(run.part).read_floats(
          dataset, run.offset + first - run.begin,
          values.subspan(static_cast<std::size_t>(first - begin), static_cast<std::size_t>(last - first)));
    }
  }
}

const H5File& ValueReader::open_part(std::int64_t part) {
  const auto found = std::ranges::find(open_, part, &decltype(open_)::value_type::first);
  if (found != open_.end()) {
    return found->second;
  }
  if (open_.size() == most_open_files) {
    open_.pop_front();
  }
  return open_.emplace_back(part, H5File::open(part_path(info_, part), H5File::Access::read)).second;
}

}  // namespace shardgpt
