// Collective HDF5 over Open MPI's I/O components has corrupted files and hung in the past (P14): repeated
// saves, each read back, loaded and verified. CMakeLists.txt runs this with every component, with and without
// passing the data through aggregators.
#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "checkpoint/verify.hpp"
#include "checkpoint_fixture.hpp"

using namespace shardgpt;

namespace {

constexpr int repeats = 5;

/// The components decide how aggregators collect the data; direct_io_hints leaves them out.
ParallelIo through_aggregators() {
  ParallelIo io;
  io.hints = {{"collective_buffering", "true"}, {"romio_cb_write", "enable"}};
  return io;
}

void save_and_load(const MpiComm& comm, const std::filesystem::path& path, const TensorTable& table,
                   const ParallelIo& io) {
  ModelShard shard(table, comm, 1);
  shard.fill_expected();
  SaveOptions options;
  options.io = io;
  save_checkpoint(comm, path, table, {{"step", 1}}, shard.pieces(), options);
  shard.fill_garbage();
  load_checkpoint(comm, read_checkpoint_info(comm, path), table, shard.mutable_pieces());
  run_phase(comm, [&] {
    if (!shard.has_expected()) {
      throw Error("other values are loaded than were saved");
    }
  });
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(io_layers, SharedFolder)

BOOST_AUTO_TEST_CASE(repeated_saves_are_sound) {
  const TensorTable table(small_config());
  for (const int ranks : {std::max(1, world().size() - 1), world().size()}) {
    for (const ParallelIo& io : {ParallelIo(), through_aggregators()}) {
      for (int repeat = 0; repeat < repeats; ++repeat) {
        const auto comm = first_ranks(ranks);
        const std::string error =
            comm ? error_of([&] { save_and_load(*comm, path / "a.h5", table, io); }) : std::string();
        BOOST_TEST_CONTEXT(ranks << " ranks, repeat " << repeat << ": " << error) {
          REQUIRE_ON_ALL_RANKS(error.empty());
        }
      }
      REQUIRE_ON_ALL_RANKS(world().rank() != 0 ||
                           verify_tensors(read_checkpoint_info(path / "a.h5")).empty());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
