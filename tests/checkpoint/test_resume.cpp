#include <boost/test/unit_test.hpp>

#include "checkpoint/resume.hpp"
#include "checkpoint/run_folder.hpp"
#include "checkpoint_fixture.hpp"

using namespace shardgpt;

namespace {

/// A run folder with checkpoints of steps 10, 20 and 30.
template <CheckpointFiles Files>
struct SavedRun : SharedFolder {
  TensorTable table{small_config()};

  SavedRun() {
    for (const std::int64_t step : {10, 20, 30}) {
      save(step);
    }
  }

  void save(std::int64_t step) const {
    ModelShard shard(table, world(), 1);
    shard.fill_expected();
    save_checkpoint(world(), checkpoint_path(path, step), table, {{"step", step}}, shard.pieces(),
                    save_as(Files));
  }

  /// The file with the last values of a checkpoint.
  [[nodiscard]] std::filesystem::path last_file(std::int64_t step) const {
    const CheckpointInfo info = read_checkpoint_info(checkpoint_path(path, step));
    return part_path(info, static_cast<std::int64_t>(info.parts.files.size()) - 1);
  }

  void damage_values(std::int64_t step) const {
    on_first_rank([&] {
      const auto file = last_file(step);
      std::int64_t offset = 0;
      { offset = H5File::open(file, H5File::Access::read).shape_of("/units/h.1/adam_v").file_offset; }
      flip_byte(file, offset + 5, 1);
    });
  }
  void cut(std::int64_t step) const {
    on_first_rank([&] {
      const auto file = last_file(step);
      std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
    });
  }

  std::optional<CheckpointInfo> load(bool& intact) const {
    ModelShard shard(table, world(), 1);
    shard.fill_garbage();
    auto info = load_newest(world(), path, table, shard.mutable_pieces());
    intact = shard.has_expected();
    return info;
  }
};

using OneFileRun = SavedRun<CheckpointFiles::shared>;
using PartsRun = SavedRun<CheckpointFiles::node>;

bool aside(const SharedFolder& run, std::int64_t step) {
  return std::filesystem::exists(checkpoint_path(run.path, step).string() + ".damaged") &&
         !std::filesystem::exists(checkpoint_path(run.path, step));
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(resume, OneFileRun)

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

BOOST_FIXTURE_TEST_SUITE(resume_from_parts, PartsRun)

BOOST_AUTO_TEST_CASE(falls_back_over_damaged_ones_and_sets_them_aside) {
  cut(30);
  damage_values(20);
  REQUIRE_ON_ALL_RANKS(newest_checkpoint_info(world(), path)->state["step"] == 20);
  bool intact = false;
  const auto info = load(intact);
  REQUIRE_ON_ALL_RANKS(info && info->state["step"] == 10 && intact);
  REQUIRE_ON_ALL_RANKS(aside(*this, 30) && aside(*this, 20));
  // The parts stay with the index, whatever its name, so that it can be looked at.
  REQUIRE_ON_ALL_RANKS(part_folders(path / "checkpoints").size() == 3);
  REQUIRE_ON_ALL_RANKS(read_checkpoint_info(checkpoint_path(path, 20).string() + ".damaged").state["step"] ==
                       20);
  world().barrier();
  // A new save of the step has its own.
  save(20);
  REQUIRE_ON_ALL_RANKS(part_folders(path / "checkpoints").size() == 4);
  REQUIRE_ON_ALL_RANKS(load(intact)->state["step"] == 20 && intact);
}

BOOST_AUTO_TEST_CASE(a_missing_part_is_damage_and_takes_the_next) {
  on_first_rank([&] { std::filesystem::remove(last_file(30)); });
  bool intact = false;
  REQUIRE_ON_ALL_RANKS(load(intact)->state["step"] == 20 && intact);
  REQUIRE_ON_ALL_RANKS(aside(*this, 30));
}

BOOST_AUTO_TEST_CASE(retention_removes_the_index_and_its_parts) {
  on_first_rank([&] { apply_retention(path, 2); });
  REQUIRE_ON_ALL_RANKS(complete_checkpoints(path).size() == 2);
  REQUIRE_ON_ALL_RANKS(part_folders(path / "checkpoints").size() == 2);
  REQUIRE_ON_ALL_RANKS(files_under(path) == 2 + 2 * static_cast<std::size_t>(world().size()));
  bool intact = false;
  REQUIRE_ON_ALL_RANKS(load(intact)->state["step"] == 30 && intact);
  // The one that stays has lost a part: it does not count as good, so nothing is removed.
  world().barrier();
  on_first_rank([&] {
    std::filesystem::remove(last_file(30));
    apply_retention(path, 1);
  });
  REQUIRE_ON_ALL_RANKS(complete_checkpoints(path).size() == 2);
}

BOOST_AUTO_TEST_CASE(what_interrupted_saves_left_is_removed) {
  const auto folder = path / "checkpoints";
  on_first_rank([&] {
    // Killed while writing parts; between the names of the parts and of the index; while removing.
    std::filesystem::create_directory(folder / "step_00000040.parts-0123456789abcdef.tmp");
    std::filesystem::create_directory(folder / "step_00000050.parts-0123456789abcdef");
    std::filesystem::remove(checkpoint_path(path, 10));
    std::filesystem::create_directory(folder / "step_00000020.parts-0123456789abcdef");
    std::filesystem::create_directory(folder / "notes.parts-0123456789abcdef");
    std::filesystem::create_directory(folder / "step_00000060.parts-mine");
    remove_stale_temporaries(path);
  });
  REQUIRE_ON_ALL_RANKS(part_folders(folder).size() == 4);  // of 20 and 30, and the two foreign ones
  bool intact = false;
  REQUIRE_ON_ALL_RANKS(load(intact)->state["step"] == 30 && intact);
}

BOOST_AUTO_TEST_CASE(an_index_that_cannot_be_read_keeps_every_folder_of_its_step) {
  on_first_rank([&] {
    flip_byte(checkpoint_path(path, 30), 0, 1);
    std::filesystem::create_directory(path / "checkpoints" / "step_00000030.parts-0123456789abcdef");
    remove_stale_temporaries(path);
  });
  REQUIRE_ON_ALL_RANKS(part_folders(path / "checkpoints").size() == 4);
}

BOOST_AUTO_TEST_CASE(only_the_newest_damaged_ones_stay_and_their_parts_with_them) {
  for (const std::int64_t step : {31, 32, 33}) {
    save(step);
  }
  on_first_rank([&] {
    for (const std::int64_t step : {10, 20, 30, 31, 32}) {
      (void)set_damaged_aside(checkpoint_path(path, step));
    }
    apply_retention(path, 0);
  });
  const auto damaged = damaged_checkpoints(path);
  REQUIRE_ON_ALL_RANKS(damaged.size() == 3);
  REQUIRE_ON_ALL_RANKS(damaged.front().filename() == "step_00000030.h5.damaged");
  REQUIRE_ON_ALL_RANKS(part_folders(path / "checkpoints").size() == 4);
  REQUIRE_ON_ALL_RANKS(complete_checkpoints(path).size() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
