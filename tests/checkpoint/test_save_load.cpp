#include <set>

#include <boost/test/unit_test.hpp>

#include "checkpoint/verify.hpp"
#include "checkpoint_fixture.hpp"
#include "core/atomic_file.hpp"

using namespace shardgpt;

namespace {

const nlohmann::json some_state = {{"step", 7}, {"lr", 0.1}};

void save_expected(const MpiComm& comm, const std::filesystem::path& path, const TensorTable& table,
                   const SaveOptions& options = {}) {
  ModelShard shard(table, comm, 1);
  shard.fill_expected();
  save_checkpoint(comm, path, table, some_state, shard.pieces(), options);
}

bool loads_expected(const MpiComm& comm, const std::filesystem::path& path, const TensorTable& table,
                    std::int64_t alignment, const LoadOptions& options = {}) {
  ModelShard shard(table, comm, alignment);
  shard.fill_garbage();
  load_checkpoint(comm, read_checkpoint_info(comm, path), table, shard.mutable_pieces(), options);
  return shard.has_expected(options.content == LoadContent::everything ? 3 : 1);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(save_load, SharedFolder)

BOOST_AUTO_TEST_CASE(written_by_some_ranks_read_by_any_number) {
  const TensorTable table(small_config());
  const int ranks = world().size();
  const int writers = std::min(4, ranks);
  {
    const auto comm = first_ranks(writers);
    if (comm) {
      save_expected(*comm, path / "a.h5", table);
    }
  }
  world().barrier();
  for (const int readers : std::set{1, std::min(2, ranks), std::min(3, ranks), std::min(5, ranks), ranks}) {
    const auto comm = first_ranks(readers);
    // Alignment 64 leaves the last ranks with little or nothing of the small units.
    REQUIRE_ON_ALL_RANKS(!comm || loads_expected(*comm, path / "a.h5", table, 1));
    REQUIRE_ON_ALL_RANKS(!comm || loads_expected(*comm, path / "a.h5", table, 64));
  }
}

BOOST_AUTO_TEST_CASE(the_file_does_not_know_how_many_ranks_wrote_it) {
  const TensorTable table(small_config());
  save_expected(world(), path / "all.h5", table);
  {
    const auto one = first_ranks(1);
    if (one) {
      save_expected(*one, path / "one.h5", table);
    }
  }
  world().barrier();
  REQUIRE_ON_ALL_RANKS(read_text_file(path / "all.h5") == read_text_file(path / "one.h5"));
  REQUIRE_ON_ALL_RANKS(verify_tensors(read_checkpoint_info(path / "all.h5")).empty());
}

// P06: sizes around the limit of one transfer, and ranks with unlike numbers of pieces.
BOOST_AUTO_TEST_CASE(any_piece_limit) {
  const TensorTable table(small_config());
  const std::int64_t largest = table.units()[1].elements * 4;
  // Many ranks on few cores take long for each; there one divisor has to do.
  const auto divisors =
      world().size() > 8 ? std::vector<std::int64_t>{2} : std::vector<std::int64_t>{1, 2, 3};
  for (const std::int64_t divisor : divisors) {
    for (const std::int64_t difference : {-4, 0, 4}) {
      SaveOptions options;
      options.max_piece_bytes = largest / divisor + difference;
      save_expected(world(), path / "a.h5", table, options);
      REQUIRE_ON_ALL_RANKS(loads_expected(world(), path / "a.h5", table, 1,
                                          {LoadContent::everything, options.max_piece_bytes + 4}));
    }
  }
}

// P01: all is held by one rank, the others bring nothing at all.
BOOST_AUTO_TEST_CASE(one_rank_holds_everything) {
  const TensorTable table(small_config());
  for (const int holder : {0, world().size() - 1}) {
    std::vector<UnitPiece> pieces;
    const auto alone = first_ranks(1);
    std::vector<std::vector<float>> values;
    for (std::size_t unit = 0; unit < table.units().size(); ++unit) {
      for (const StateKind kind : state_kinds) {
        auto& all = values.emplace_back(static_cast<std::size_t>(table.units()[unit].elements));
        for (std::size_t i = 0; i < all.size(); ++i) {
          all[i] = expected_value(static_cast<std::int64_t>(unit), static_cast<std::int64_t>(i), kind);
        }
      }
    }
    if (world().rank() == holder) {
      for (std::size_t unit = 0; unit < table.units().size(); ++unit) {
        pieces.push_back({static_cast<std::int64_t>(unit), 0, values[3 * unit], values[3 * unit + 1],
                          values[3 * unit + 2]});
      }
    }
    save_checkpoint(world(), path / "a.h5", table, some_state, pieces);
    REQUIRE_ON_ALL_RANKS(loads_expected(world(), path / "a.h5", table, 1));
  }
}

BOOST_AUTO_TEST_CASE(parameters_alone_leave_the_moments) {
  const TensorTable table(small_config());
  save_expected(world(), path / "a.h5", table);
  REQUIRE_ON_ALL_RANKS(loads_expected(world(), path / "a.h5", table, 1, {LoadContent::parameters}));
}

// Replicas: every rank reads the whole model.
BOOST_AUTO_TEST_CASE(ranks_may_read_the_same_pieces) {
  const TensorTable table(small_config());
  save_expected(world(), path / "a.h5", table);
  const MpiComm self = MpiComm::duplicate(MPI_COMM_SELF);
  ModelShard whole(table, self, 1);
  load_checkpoint(world(), read_checkpoint_info(world(), path / "a.h5"), table, whole.mutable_pieces());
  REQUIRE_ON_ALL_RANKS(whole.has_expected());
}

// P10: attributes end at 64 KiB; the texts are datasets.
BOOST_AUTO_TEST_CASE(state_of_100_kilobytes) {
  const TensorTable table(small_config());
  ModelShard shard(table, world(), 1);
  const nlohmann::json state = {{"notes", std::string(100'000, 'n')}, {"umlaut", "\u00fc"}};
  save_checkpoint(world(), path / "a.h5", table, state, shard.pieces());
  REQUIRE_ON_ALL_RANKS(read_checkpoint_info(world(), path / "a.h5").state == state);
  REQUIRE_ON_ALL_RANKS(read_checkpoint_info(path / "a.h5").config == table.config());
}

BOOST_AUTO_TEST_CASE(pieces_that_do_not_cover_are_refused) {
  const TensorTable table(small_config());
  ModelShard shard(table, world(), 1);
  std::vector<UnitPiece> pieces = shard.pieces();
  if (world().rank() == 0) {
    pieces[1].param = pieces[1].param.first(pieces[1].param.size() - 1);
    pieces[1].adam_m = pieces[1].adam_m.first(pieces[1].adam_m.size() - 1);
    pieces[1].adam_v = pieces[1].adam_v.first(pieces[1].adam_v.size() - 1);
  }
  const std::string missing =
      error_of([&] { save_checkpoint(world(), path / "a.h5", table, some_state, pieces); });
  REQUIRE_ON_ALL_RANKS(missing.find("do not fit") != std::string::npos);
  REQUIRE_ON_ALL_RANKS(std::filesystem::is_empty(path));
  if (world().rank() == 0) {
    pieces[1].adam_m = {};
  }
  const std::string unlike =
      error_of([&] { save_checkpoint(world(), path / "a.h5", table, some_state, pieces); });
  REQUIRE_ON_ALL_RANKS(unlike.find("adam_m has 0 elements") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(another_model_is_refused_with_both_values) {
  save_expected(world(), path / "a.h5", TensorTable(small_config(8)));
  const TensorTable other(small_config(16));
  const std::string error = error_of([&] { (void)loads_expected(world(), path / "a.h5", other, 1); });
  REQUIRE_ON_ALL_RANKS(error.find("embd is 8, wanted 16") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
