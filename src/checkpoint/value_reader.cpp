#include "checkpoint/value_reader.hpp"

#include <algorithm>

namespace shardgpt {
namespace {

constexpr std::size_t most_open_files = 16;

}  // namespace

template <class Work>
void ValueReader::for_each_run(std::int64_t unit, StateKind kind, std::int64_t begin, std::int64_t count,
                               Work&& work) {
  const std::string dataset = layout::unit_dataset(table_.units()[static_cast<std::size_t>(unit)].name, kind);
  for (const PartRun& run : runs_of_unit(info_.parts, unit)) {
    const std::int64_t first = std::max(begin, run.begin);
    const std::int64_t last = std::min(begin + count, run.begin + run.count);
    if (first < last) {
      work(open_part(run.part), dataset, run.offset + first - run.begin, first, last - first);
    }
  }
}

void ValueReader::read(std::int64_t unit, StateKind kind, std::int64_t begin, std::span<float> values) {
  for_each_run(unit, kind, begin, static_cast<std::int64_t>(values.size()),
               [&](const OpenPart& part, const std::string& dataset, std::int64_t offset, std::int64_t first,
                   std::int64_t count) {
                 part.file.read_floats(dataset, offset,
                                       values.subspan(static_cast<std::size_t>(first - begin),
                                                      static_cast<std::size_t>(count)));
               });
}

void ValueReader::read_soon(std::int64_t unit, StateKind kind, std::int64_t begin, std::int64_t count) {
  constexpr std::int64_t element_bytes = sizeof(float);
  for_each_run(unit, kind, begin, count,
               [&](const OpenPart& part, const std::string& dataset, std::int64_t offset,
                   std::int64_t /*first*/, std::int64_t run_count) {
                 part.advice.read_soon(part.file.shape_of(dataset).file_offset + offset * element_bytes,
                                       run_count * element_bytes);
               });
}

const ValueReader::OpenPart& ValueReader::open_part(std::int64_t part) {
  const auto found = std::ranges::find(open_, part, &OpenPart::part);
  if (found != open_.end()) {
    return *found;
  }
  if (open_.size() == most_open_files) {
    open_.pop_front();
  }
  const std::filesystem::path path = part_path(info_, part);
  open_.push_back({part, H5File::open(path, H5File::Access::read), PageCacheAdvice(path)});
  return open_.back();
}

}  // namespace shardgpt
