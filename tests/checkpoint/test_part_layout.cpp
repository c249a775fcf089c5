#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "checkpoint/part_files.hpp"
#include "checkpoint/part_layout.hpp"

using namespace shardgpt;

namespace {

ModelConfig tiny_config() {
  ModelConfig config;
  config.layers = 1;
  config.heads = 1;
  config.embd = 4;
  config.vocab = 5;
  config.positions = 3;
  config.bos_token = config.eos_token = 4;
  return config;
}

/// Two parts: the first has the head of each unit, the second the rest.
PartLayout two_parts(const TensorTable& table) {
  PartLayout layout;
  layout.save_id = "0123456789abcdef";
  layout.files = {{"a", 1}, {"b", 2}};
  std::vector<PartRun> runs;
  for (std::size_t unit = 0; unit < table.units().size(); ++unit) {
    const auto number = static_cast<std::int64_t>(unit);
    runs.push_back({1, number, 10, table.units()[unit].elements - 10, 0});
    runs.push_back({0, number, 0, 4, 0});
    runs.push_back({0, number, 4, 6, 0});
  }
  layout.runs = pack_runs(runs);
  return layout;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(part_layout)

BOOST_AUTO_TEST_CASE(runs_are_sorted_joined_and_given_offsets) {
  const std::vector<PartRun> packed = pack_runs({{1, 0, 7, 3, 0},
                                                 {0, 0, 0, 4, 0},
                                                 {0, 1, 0, 5, 0},
                                                 {0, 0, 10, 2, 0},
                                                 {1, 0, 4, 3, 0},
                                                 {0, 0, 12, 0, 0}});
  const std::vector<PartRun> wanted = {{0, 0, 0, 4, 0}, {1, 0, 4, 6, 0}, {0, 0, 10, 2, 4}, {0, 1, 0, 5, 0}};
  BOOST_TEST((packed == wanted));
  BOOST_TEST((pack_runs(packed) == packed));
}

BOOST_AUTO_TEST_CASE(a_layout_must_cover_every_unit_once) {
  const TensorTable table(tiny_config());
  const PartLayout sound = two_parts(table);
  BOOST_TEST(layout_problem(table, sound) == "");
  BOOST_TEST(layout_problem(table, one_file_layout(table, "x/a.h5")) == "");
  BOOST_TEST((layout_from_json(nlohmann::json::parse(layout_to_json(sound).dump())) == sound));
  const auto broken = [&](auto change) {
    PartLayout layout = sound;
    change(layout);
    return !layout_problem(table, layout).empty();
  };
  BOOST_TEST(broken([](PartLayout& layout) { layout.runs.pop_back(); }));
  BOOST_TEST(broken([](PartLayout& layout) { layout.runs.erase(layout.runs.begin()); }));
  BOOST_TEST(broken([](PartLayout& layout) { layout.runs[0].count += 1; }));
  BOOST_TEST(broken([](PartLayout& layout) { layout.runs[1].begin = 9; }));
  BOOST_TEST(broken([](PartLayout& layout) { layout.runs[1].offset = 1; }));
  BOOST_TEST(broken([](PartLayout& layout) { layout.runs[1].part = 2; }));
  BOOST_TEST(broken([](PartLayout& layout) { layout.runs[1].part = -1; }));
  BOOST_TEST(broken([](PartLayout& layout) { layout.runs[1].unit = 99; }));
  BOOST_TEST(broken([](PartLayout& layout) { layout.runs[0].count = -4; }));
  BOOST_TEST(broken([](PartLayout& layout) { layout.runs[1].count = INT64_MAX; }));
  BOOST_TEST(broken([](PartLayout& layout) { std::ranges::reverse(layout.runs); }));
}

BOOST_AUTO_TEST_CASE(elements_of_a_part) {
  const TensorTable table(tiny_config());
  const PartLayout layout = two_parts(table);
  BOOST_TEST(elements_of_part(table, layout, 0) == (std::vector<std::int64_t>{10, 10}),
             boost::test_tools::per_element());
  BOOST_TEST(runs_of_part(layout, 1).size() == 2);
  BOOST_TEST(runs_of_unit(layout, 1).size() == 2);
}

BOOST_AUTO_TEST_CASE(names) {
  const std::string id = new_save_id();
  BOOST_TEST(id.size() == 16);
  BOOST_TEST(id != new_save_id());
  const auto folder = parts_folder("run/step_00000007.h5", id);
  BOOST_TEST(folder == std::filesystem::path("run/step_00000007.parts-" + id));
  BOOST_TEST(index_of_parts(folder) == std::filesystem::path("run/step_00000007.h5"));
  BOOST_TEST((parts_folder_kind(folder.filename().string()) == PartsFolder::finished));
  BOOST_TEST(
      (parts_folder_kind(temporary_parts_folder("step_00000007.h5", id).string()) == PartsFolder::temporary));
  for (const char* name :
       {"step_00000007.h5", "step_00000007.parts-", "step_00000007.parts-0123",
        "step_00000007.parts-0123456789abcdeX", "step_00000007.parts-0123456789abcdef.tmp.x"}) {
    BOOST_TEST((parts_folder_kind(name) == PartsFolder::none), name);
  }
  BOOST_TEST(part_file_name(7) == "part_0007.h5");
  BOOST_TEST(part_file_name(12345) == "part_12345.h5");
}

BOOST_AUTO_TEST_SUITE_END()
