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

namespace {

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(save_failures, SharedFolder)

BOOST_AUTO_TEST_CASE(a_rank_that_throws_at_any_stage_ends_the_save_everywhere) {
  const TensorTable table(small_config());
  ModelShard shard(table, world(), 1);
  shard.fill_expected();
  const auto file = path / "a.h5";
  save_checkpoint(world(), file, table, {{"step", 1}}, shard.pieces());
  const std::string before = read_text_file(file);
  for (const char* stage : {"planned", "created", "written", "verified", "synced"}) {
    SaveOptions options;
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
    BOOST_TEST_CONTEXT(stage) {
      REQUIRE_ON_ALL_RANKS(error == "thrown after " + std::string(stage));
      REQUIRE_ON_ALL_RANKS(files_in(path) == 1);
      REQUIRE_ON_ALL_RANKS(read_text_file(file) == before);
    }
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
  REQUIRE_ON_ALL_RANKS(files_in(path) == 1);
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
