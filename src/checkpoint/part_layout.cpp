#include "checkpoint/part_layout.hpp"

#include <algorithm>
#include <tuple>

namespace shardgpt {
namespace {

std::string run_text(const TensorTable& table, const PartRun& run) {
  return std::to_string(run.count) + " elements from element " + std::to_string(run.begin) + " of unit " +
         table.units()[static_cast<std::size_t>(run.unit)].name;
}

}  // namespace

PartLayout one_file_layout(const TensorTable& table, const std::filesystem::path& file) {
  PartLayout layout;
  layout.files.push_back({file.filename().string(), 0});
  for (std::size_t unit = 0; unit < table.units().size(); ++unit) {
    layout.runs.push_back({0, static_cast<std::int64_t>(unit), 0, table.units()[unit].elements, 0});
  }
  return layout;
}

std::vector<PartRun> pack_runs(std::vector<PartRun> runs) {
  std::erase_if(runs, [](const PartRun& run) { return run.count == 0; });
  std::ranges::sort(runs, {}, [](const PartRun& run) { return std::tuple(run.unit, run.begin); });
  std::vector<PartRun> packed;
  for (const PartRun& run : runs) {
    if (!packed.empty()) {
      PartRun& last = packed.back();
      if (last.part == run.part && last.unit == run.unit && last.begin + last.count == run.begin) {
        last.count += run.count;
        continue;
      }
    }
    packed.push_back(run);
  }
  std::vector<std::int64_t> filled;  // of the unit at hand, for each part
  for (std::size_t i = 0; i < packed.size(); ++i) {
    PartRun& run = packed[i];
    if (i == 0 || packed[i - 1].unit != run.unit) {
      filled.clear();
    }
    const auto part = static_cast<std::size_t>(run.part);
    filled.resize(std::max(filled.size(), part + 1));
    run.offset = filled[part];
    filled[part] += run.count;
  }
  return packed;
}

std::string layout_problem(const TensorTable& table, const PartLayout& layout) {
  const auto units = static_cast<std::int64_t>(table.units().size());
  const auto parts = static_cast<std::int64_t>(layout.files.size());
  for (const PartRun& run : layout.runs) {
    if (run.unit < 0 || run.unit >= units || run.part < 0 || run.part >= parts) {
      return "a run of elements is of unit " + std::to_string(run.unit) + " and part " +
             std::to_string(run.part) + ", there are " + std::to_string(units) + " units and " +
             std::to_string(parts) + " parts";
    }
    // Within the unit, so that no sum below can overflow.
    const std::int64_t elements = table.units()[static_cast<std::size_t>(run.unit)].elements;
    if (run.count < 1 || run.count > elements || run.begin < 0 || run.begin > elements - run.count) {
      return run_text(table, run) + ", which has " + std::to_string(elements);
    }
  }
  for (std::int64_t unit = 0; unit < units; ++unit) {
    const std::int64_t elements = table.units()[static_cast<std::size_t>(unit)].elements;
    std::int64_t covered = 0;
    for (const PartRun& run : runs_of_unit(layout, unit)) {
      if (run.begin != covered || run.count > elements - covered) {
        return run_text(table, run) + " follow element " + std::to_string(covered);
      }
      covered += run.count;
    }
    if (covered != elements) {
      return "the parts hold " + std::to_string(covered) + " elements of unit " +
             table.units()[static_cast<std::size_t>(unit)].name + ", wanted " + std::to_string(elements);
    }
  }
  return layout.runs == pack_runs(layout.runs) ? ""
                                               : "the runs of elements are not in the order of the parts";
}

std::span<const PartRun> runs_of_unit(const PartLayout& layout, std::int64_t unit) {
  return {std::ranges::lower_bound(layout.runs, unit, {}, &PartRun::unit),
          std::ranges::upper_bound(layout.runs, unit, {}, &PartRun::unit)};
}

std::vector<PartRun> runs_of_part(const PartLayout& layout, std::int64_t part) {
  std::vector<PartRun> runs;
  std::ranges::copy_if(layout.runs, std::back_inserter(runs),
                       [part](const PartRun& run) { return run.part == part; });
  return runs;
}

std::vector<std::int64_t> elements_of_part(const TensorTable& table, const PartLayout& layout,
                                           std::int64_t part) {
  std::vector<std::int64_t> elements(table.units().size());
  for (const PartRun& run : layout.runs) {
    if (run.part == part) {
      elements[static_cast<std::size_t>(run.unit)] += run.count;
    }
  }
  return elements;
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PartFile, name, bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PartRun, part, unit, begin, count, offset)

nlohmann::json layout_to_json(const PartLayout& layout) {
  return {{"save_id", layout.save_id}, {"files", layout.files}, {"runs", layout.runs}};
}

PartLayout layout_from_json(const nlohmann::json& json) {
  return {json.at("save_id"), json.at("files"), json.at("runs")};
}

}  // namespace shardgpt
