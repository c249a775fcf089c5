// A save that fails on one rank fails on all, with the same words, and leaves nothing that looks finished.
#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "checkpoint/checkpoint_error.hpp"
#include "checkpoint/run_folder.hpp"
#include "checkpoint_fixture.hpp"
#include "core/atomic_file.hpp"

using namespace shardgpt;

BOOST_FIXTURE_TEST_SUITE(save_failures, SharedFolder)

BOOST_AUTO_TEST_CASE(a_rank_that_throws_at_any_stage_ends_the_save_everywhere) {
  const TensorTable table(small_config());
  ModelShard shard(table, world(), 1);
  shard.fill_expected();
  const auto file = path / "a.h5";
  for (const CheckpointFiles files : both_file_modes) {
    save_checkpoint(world(), file, table, {{"step", 1}}, shard.pieces(), save_as(files));
    const std::string before = read_text_file(file);
    const std::size_t file_count = files_under(path);
    for (const char* stage : {"planned", "created", "written", "verified", "synced"}) {
      SaveOptions options = save_as(files);
      if (world().rank() == world().size() - 1) {
        options.on_stage = [&](std::string_view reached) {
          if (reached == stage) {
            throw Error("thrown after " + std::string(stage));
          }
        };
      }
      const std::string error = error_of([&] {
        save_checkpoint(world(), file, table, {{"step", 2}}, shard.pieces(), options);
      });
      world().barrier();
      BOOST_TEST_CONTEXT(name_of(files) << ' ' << stage) {
        REQUIRE_ON_ALL_RANKS(error == "thrown after " + std::string(stage));
        REQUIRE_ON_ALL_RANKS(files_under(path) == file_count);
        REQUIRE_ON_ALL_RANKS(part_folders(path).size() == (files == CheckpointFiles::node ? 1U : 0U));
        REQUIRE_ON_ALL_RANKS(read_text_file(file) == before);
      }
    }
    REQUIRE_ON_ALL_RANKS(read_checkpoint_info(world(), file).state["step"] == 1);
  }
}

// One name, both kinds of checkpoint in turn: the parts of the one replaced go with it.
BOOST_AUTO_TEST_CASE(a_replaced_checkpoint_leaves_no_parts) {
  const TensorTable table(small_config());
  ModelShard shard(table, world(), 1);
  shard.fill_expected();
  const auto file = path / "a.h5";
  const auto parts = static_cast<std::size_t>(world().size());
  for (const CheckpointFiles files :
       {CheckpointFiles::node, CheckpointFiles::node, CheckpointFiles::shared}) {
    save_checkpoint(world(), file, table, {{"step", 1}}, shard.pieces(), save_as(files));
    world().barrier();
    REQUIRE_ON_ALL_RANKS(files_under(path) == 1 + (files == CheckpointFiles::node ? parts : 0));
    REQUIRE_ON_ALL_RANKS(part_folders(path).size() == (files == CheckpointFiles::node ? 1U : 0U));
    REQUIRE_ON_ALL_RANKS(read_checkpoint_info(world(), file).state["step"] == 1);
  }
}

// Written values that read back unlike are found before the file gets its name, and only if one looks.
BOOST_AUTO_TEST_CASE(reading_back_finds_what_was_written_wrong) {
  const TensorTable table(small_config());
  for (const CheckpointFiles files : both_file_modes) {
    ModelShard shard(table, world(), 1);
    shard.fill_expected();
    const std::vector<MutableUnitPiece> pieces = shard.mutable_pieces();
    for (const bool verify : {true, false}) {
      shard.fill_expected();
      SaveOptions options = save_as(files);
      options.verify_after_write = verify;
      options.on_stage = [&](std::string_view stage) {
        if (stage == "written" && world().rank() == world().size() - 1) {
          pieces[1].adam_v[0] = -1;  // memory is what the file is compared with
        }
      };
      const std::string error = error_of([&] {
        save_checkpoint(world(), path / "a.h5", table, {{"step", 1}}, shard.pieces(), options);
      });
      world().barrier();
      BOOST_TEST_CONTEXT(name_of(files)) {
        REQUIRE_ON_ALL_RANKS((error.find("/units/h.0/adam_v") != std::string::npos) == verify);
        REQUIRE_ON_ALL_RANKS((error.find("reads back unlike what was written") != std::string::npos) ==
                             verify);
        REQUIRE_ON_ALL_RANKS(std::filesystem::exists(path / "a.h5") == !verify);
      }
      world().barrier();
    }
    on_first_rank([&] { std::filesystem::remove(path / "a.h5"); });
  }
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_made_is_named) {
  const TensorTable table(small_config());
  ModelShard shard(table, world(), 1);
  if (world().rank() == 0) {
    write_file_atomically(path / "file", "x");
  }
  world().barrier();
  const std::string error =
      error_of([&] { save_checkpoint(world(), path / "file" / "a.h5", table, {}, shard.pieces()); });
  REQUIRE_ON_ALL_RANKS(error.find((path / "file").string()) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_left_over_temporary_file_is_no_obstacle) {
  const TensorTable table(small_config());
  ModelShard shard(table, world(), 1);
  if (world().rank() == 0) {
    write_file_atomically(path / "a.h5.tmp", "left over");
  }
  world().barrier();
  save_checkpoint(world(), path / "a.h5", table, {}, shard.pieces());
  REQUIRE_ON_ALL_RANKS(files_under(path) == 1);
}

// P05: the message names the file, errno and the variable; such a file is not called damaged. A save replaces
// the name and leaves the file in use as it is.
BOOST_AUTO_TEST_CASE(a_file_held_by_a_lock_is_named_with_its_remedy) {
  const TensorTable table(small_config());
  ModelShard shard(table, world(), 1);
  shard.fill_expected();
  const auto file = path / "a.h5";
  save_checkpoint(world(), file, table, {{"step", 1}}, shard.pieces());
  const int holder = world().rank() == 0 ? ::open(file.c_str(), O_RDWR | O_CLOEXEC) : -1;
  BOOST_TEST((world().rank() != 0 || ::flock(holder, LOCK_EX) == 0));
  world().barrier();
  const std::string error = error_of([&] { (void)read_checkpoint_info(world(), file); });
  REQUIRE_ON_ALL_RANKS(error.find("a.h5") != std::string::npos);
  REQUIRE_ON_ALL_RANKS(error.find("errno = 11") != std::string::npos);
  REQUIRE_ON_ALL_RANKS(error.find("HDF5_USE_FILE_LOCKING=FALSE") != std::string::npos);
  REQUIRE_ON_ALL_RANKS(error.find("damaged") == std::string::npos);
  save_checkpoint(world(), file, table, {{"step", 2}}, shard.pieces());
  REQUIRE_ON_ALL_RANKS(read_checkpoint_info(world(), file).state["step"] == 2);
  if (holder >= 0) {
    ::close(holder);
  }
}

BOOST_AUTO_TEST_SUITE_END()
