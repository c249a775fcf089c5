// Saved on N ranks, loaded on M, for all N and M of {1, 2, 3, 4, 5, 8}: bit-equal, in one file and in
// several. Which MPI-IO layer is used is up to the environment; CMakeLists.txt runs this once with each.
#include <array>

#include <boost/test/unit_test.hpp>

#include "checkpoint/verify.hpp"
#include "checkpoint_fixture.hpp"
#include "core/atomic_file.hpp"

using namespace shardgpt;

namespace {

constexpr std::array rank_counts = {1, 2, 3, 4, 5, 8};

ModelConfig one_block() {
  ModelConfig config = small_config();
  config.layers = 1;
  return config;
}

void save_on(int ranks, const std::filesystem::path& path, const TensorTable& table, CheckpointFiles files) {
  const auto comm = first_ranks(ranks);
  if (comm) {
    ModelShard shard(table, *comm, 1);
    shard.fill_expected();
    save_checkpoint(*comm, path, table, {{"step", ranks}}, shard.pieces(), save_as(files, 2));
  }
  world().barrier();
}

bool loads_on(int ranks, const std::filesystem::path& path, const TensorTable& table) {
  const auto comm = first_ranks(ranks);
  if (!comm) {
    return true;
  }
  ModelShard shard(table, *comm, 1);
  shard.fill_garbage();
  const CheckpointInfo info = read_checkpoint_info(*comm, path);
  load_checkpoint(*comm, info, table, shard.mutable_pieces());
  return shard.has_expected();
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(resharding, SharedFolder)

BOOST_AUTO_TEST_CASE(saved_on_n_ranks_and_loaded_on_m) {
  BOOST_TEST_REQUIRE(world().size() >= rank_counts.back());
  const TensorTable table(one_block());
  for (const CheckpointFiles files : both_file_modes) {
    for (const int writers : rank_counts) {
      const auto file = path / "a.h5";
      save_on(writers, file, table, files);
      BOOST_TEST_CONTEXT(name_of(files) << " written by " << writers) {
        const CheckpointInfo info = read_checkpoint_info(file);
        const std::size_t parts =
            files == CheckpointFiles::node ? static_cast<std::size_t>(writers + 1) / 2 : 1;
        REQUIRE_ON_ALL_RANKS(info.parts.files.size() == parts);
        for (const int readers : rank_counts) {
          BOOST_TEST_CONTEXT("read by " << readers) {
            REQUIRE_ON_ALL_RANKS(loads_on(readers, file, table));
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
