#include <boost/test/unit_test.hpp>

#include "checkpoint/resume.hpp"
#include "checkpoint/run_folder.hpp"
#include "checkpoint_fixture.hpp"

using namespace shardgpt;

namespace {

/// A run folder with checkpoints of steps 10, 20 and 30.
struct SavedRun : SharedFolder {
  TensorTable table{small_config()};

  SavedRun() {
    ModelShard shard(table, world(), 1);
    shard.fill_expected();
    for (const std::int64_t step : {10, 20, 30}) {
      save_checkpoint(world(), checkpoint_path(path, step), table, {{"step", step}}, shard.pieces());
    }
  }

  void damage_values(std::int64_t step) const {
    world().barrier();
    if (world().rank() == 0) {
      const auto file = checkpoint_path(path, step);
      std::int64_t offset = 0;
      { offset = H5File::open(file, H5File::Access::read).shape_of("/units/h.1/adam_v").file_offset; }
      flip_byte(file, offset + 5, 1);
    }
    world().barrier();
  }
  void cut(std::int64_t step) const {
    world().barrier();
    if (world().rank() == 0) {
      const auto file = checkpoint_path(path, step);
      std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
    }
    world().barrier();
  }

  std::optional<CheckpointInfo> load(bool& intact) const {
    ModelShard shard(table, world(), 1);
    shard.fill_garbage();
    auto info = load_newest(world(), path, table, shard.mutable_pieces());
    intact = shard.has_expected();
    return info;
  }
};

bool aside(const SavedRun& run, std::int64_t step) {
  return std::filesystem::exists(checkpoint_path(run.path, step).string() + ".damaged") &&
         !std::filesystem::exists(checkpoint_path(run.path, step));
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(resume, SavedRun)

BOOST_AUTO_TEST_CASE(takes_the_newest) {
  bool intact = false;
  const auto info = load(intact);
  REQUIRE_ON_ALL_RANKS(info && info->state["step"] == 30 && intact);
  REQUIRE_ON_ALL_RANKS(info->path == checkpoint_path(path, 30));
  REQUIRE_ON_ALL_RANKS(newest_checkpoint_info(world(), path)->state["step"] == 30);
}

BOOST_AUTO_TEST_CASE(falls_back_over_damaged_ones_and_sets_them_aside) {
  cut(30);
  damage_values(20);
  // Only the structure is looked at here: 20 still passes.
  REQUIRE_ON_ALL_RANKS(newest_checkpoint_info(world(), path)->state["step"] == 20);
  bool intact = false;
  const auto info = load(intact);
  REQUIRE_ON_ALL_RANKS(info && info->state["step"] == 10 && intact);
  REQUIRE_ON_ALL_RANKS(aside(*this, 30) && aside(*this, 20));
  REQUIRE_ON_ALL_RANKS(load(intact)->state["step"] == 10);
}

BOOST_AUTO_TEST_CASE(a_run_with_damaged_checkpoints_only_does_not_start_over) {
  for (const std::int64_t step : {10, 20, 30}) {
    damage_values(step);
  }
  bool intact = false;
  for (int repeat = 0; repeat < 2; ++repeat) {
    const std::string error = error_of([&] { (void)load(intact); });
    REQUIRE_ON_ALL_RANKS(error.find("3 damaged checkpoint(s) and no sound one") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_run_without_checkpoints_has_none) {
  ModelShard shard(table, world(), 1);
  REQUIRE_ON_ALL_RANKS(!load_newest(world(), path / "new", table, shard.mutable_pieces()));
  REQUIRE_ON_ALL_RANKS(!newest_checkpoint_info(world(), path / "new"));
}

BOOST_AUTO_TEST_CASE(another_model_is_an_error_not_damage) {
  const TensorTable other(small_config(16));
  ModelShard shard(other, world(), 1);
  const std::string error =
      error_of([&] { (void)load_newest(world(), path, other, shard.mutable_pieces()); });
  REQUIRE_ON_ALL_RANKS(error.find("embd is 8, wanted 16") != std::string::npos);
  REQUIRE_ON_ALL_RANKS(complete_checkpoints(path).size() == 3);
}

BOOST_AUTO_TEST_SUITE_END()
