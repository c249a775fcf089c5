#include <fstream>

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "checkpoint/run_folder.hpp"
#include "checkpoint/skeleton.hpp"
#include "core/error.hpp"

using namespace shardgpt;

namespace {

struct RunFolder {
  std::filesystem::path run =
      std::filesystem::temp_directory_path() / ("shardgpt-run-test-" + std::to_string(::getpid()));
  RunFolder() { std::filesystem::create_directories(run / "checkpoints"); }
  ~RunFolder() { std::filesystem::remove_all(run); }

  /// A checkpoint that can be read; its tensors are zeros.
  void make(std::int64_t step) const {
    ModelConfig config;
    config.layers = 1;
    config.heads = 1;
    config.embd = 4;
    config.vocab = 5;
    config.positions = 3;
    config.bos_token = 4;
    config.eos_token = 4;
    const TensorTable table(config);
    (void)create_checkpoint_skeleton(checkpoint_path(run, step), table, {{"step", step}},
                                     TensorChecksums(table.tensors().size()));
  }
  void touch(const std::string& name) const { std::ofstream(run / "checkpoints" / name) << "x"; }

  [[nodiscard]] std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> found;
    for (const auto& path : complete_checkpoints(run)) {
      found.push_back(step_of(path));
    }
    return found;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(run_folder, RunFolder)

BOOST_AUTO_TEST_CASE(only_final_names_count_in_the_order_of_steps) {
  BOOST_TEST(checkpoint_path("r", 1000) == std::filesystem::path("r/checkpoints/step_00001000.h5"));
  for (const char* name :
       {"step_00000020.h5", "step_00000003.h5", "step_100000000.h5", "step_00000005.h5.tmp",
        "step_00000006.h5.damaged", "step_0000000x.h5", "step_7.h5", "other.h5", "step_-0000008.h5"}) {
    touch(name);
  }
  std::filesystem::create_directories(run / "checkpoints" / "step_00000009.h5");
  BOOST_TEST(steps() == (std::vector<std::int64_t>{3, 20, 100000000}), boost::test_tools::per_element());
  BOOST_TEST(damaged_checkpoints(run).size() == 1);
  BOOST_TEST(complete_checkpoints(run / "absent").empty());
}

BOOST_AUTO_TEST_CASE(stale_temporaries_go_and_nothing_else) {
  touch("step_00000005.h5.tmp");
  touch("notes.tmp");
  make(5);
  remove_stale_temporaries(run);
  BOOST_TEST(!std::filesystem::exists(run / "checkpoints/step_00000005.h5.tmp"));
  BOOST_TEST(std::filesystem::exists(run / "checkpoints/notes.tmp"));
  BOOST_TEST(steps().size() == 1);
}

BOOST_AUTO_TEST_CASE(retention_keeps_the_newest) {
  for (const std::int64_t step : {1, 2, 3, 4}) {
    make(step);
  }
  apply_retention(run, 0);
  BOOST_TEST(steps().size() == 4);
  apply_retention(run, 2);
  BOOST_TEST(steps() == (std::vector<std::int64_t>{3, 4}), boost::test_tools::per_element());
  apply_retention(run, 5);
  BOOST_TEST(steps().size() == 2);
  BOOST_CHECK_THROW(apply_retention(run, -1), InputError);
}

BOOST_AUTO_TEST_CASE(retention_keeps_milestones) {
  for (const std::int64_t step : {5, 8, 10, 12, 20, 21, 22}) {
    make(step);
  }
  apply_retention(run, 2, 10);
  BOOST_TEST(steps() == (std::vector<std::int64_t>{10, 20, 21, 22}), boost::test_tools::per_element());
  make(30);
  apply_retention(run, 1, 10);  // the newest is a milestone too
  BOOST_TEST(steps() == (std::vector<std::int64_t>{10, 20, 30}), boost::test_tools::per_element());
  apply_retention(run, 1, 7);
  BOOST_TEST(steps() == (std::vector<std::int64_t>{30}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(retention_never_removes_the_last_good_one) {
  make(1);
  make(2);
  touch("step_00000003.h5");
  touch("step_00000004.h5");
  apply_retention(run, 2);
  BOOST_TEST(steps().size() == 4);
  apply_retention(run, 3);
  BOOST_TEST(steps() == (std::vector<std::int64_t>{2, 3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(damaged_ones_are_set_aside_without_losing_an_earlier_one) {
  make(1);
  BOOST_TEST(set_damaged_aside(checkpoint_path(run, 1)).filename() == "step_00000001.h5.damaged");
  make(1);
  BOOST_TEST(set_damaged_aside(checkpoint_path(run, 1)).filename() == "step_00000001.h5.damaged.2");
  BOOST_TEST(steps().empty());
  BOOST_TEST(damaged_checkpoints(run).size() == 2);
}

BOOST_AUTO_TEST_CASE(the_newest_three_damaged_ones_stay) {
  make(9);
  for (const char* name :
       {"step_00000002.h5.damaged", "step_00000010.h5.damaged", "step_00000003.h5.damaged",
        "step_00000003.h5.damaged.2", "step_00000003.h5.damaged.10", "step_00000001.h5.damaged.x"}) {
    touch(name);
  }
  BOOST_TEST(damaged_checkpoints(run).size() == 5);
  apply_retention(run, 3);
  const auto left = damaged_checkpoints(run);
  BOOST_TEST_REQUIRE(left.size() == kept_damaged);
  BOOST_TEST(left[0].filename() == "step_00000003.h5.damaged.2");
  BOOST_TEST(left[1].filename() == "step_00000003.h5.damaged.10");
  BOOST_TEST(left[2].filename() == "step_00000010.h5.damaged");
  BOOST_TEST(std::filesystem::exists(run / "checkpoints/step_00000001.h5.damaged.x"));
}

// Nothing is deleted while no checkpoint can be read: a damaged one may be all there is.
BOOST_AUTO_TEST_CASE(damaged_ones_stay_where_none_is_sound) {
  for (int number = 2; number < 7; ++number) {
    touch("step_00000002.h5.damaged." + std::to_string(number));
  }
  apply_retention(run, 3);
  BOOST_TEST(damaged_checkpoints(run).size() == 5);
  touch("step_00000004.h5");
  apply_retention(run, 0);
  BOOST_TEST(damaged_checkpoints(run).size() == 5);
}

BOOST_AUTO_TEST_SUITE_END()
