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

/// What programs without knowledge of parts see: every unit as one dataset of the named file.
bool shows_expected(const std::filesystem::path& path, const TensorTable& table) {
  const H5File file = H5File::open(path, H5File::Access::read);
  std::vector<float> values;
  for (std::size_t unit = 0; unit < table.units().size(); ++unit) {
    for (const StateKind kind : state_kinds) {
      values.assign(static_cast<std::size_t>(table.units()[unit].elements), 0.0F);
      file.read_floats(layout::unit_dataset(table.units()[unit].name, kind), 0, values);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] !=
            expected_value(static_cast<std::int64_t>(unit), static_cast<std::int64_t>(i), kind)) {
          return false;
        }
      }
    }
  }
  return true;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(save_load, SharedFolder)

BOOST_AUTO_TEST_CASE(written_by_some_ranks_read_by_any_number) {
  const TensorTable table(small_config());
  const int ranks = world().size();
  for (const CheckpointFiles files : both_file_modes) {
    {
      const auto comm = first_ranks(std::min(4, ranks));
      if (comm) {
        save_expected(*comm, path / "a.h5", table, save_as(files));
      }
    }
    world().barrier();
    BOOST_TEST_CONTEXT(name_of(files)) {
      for (const int readers : std::set{1, std::min(3, ranks), ranks}) {
        const auto comm = first_ranks(readers);
        // Alignment 64 leaves the last ranks with little or nothing of the small units (P12).
        REQUIRE_ON_ALL_RANKS(!comm || loads_expected(*comm, path / "a.h5", table, 1));
        REQUIRE_ON_ALL_RANKS(!comm || loads_expected(*comm, path / "a.h5", table, 64));
      }
      REQUIRE_ON_ALL_RANKS(verify_tensors(read_checkpoint_info(path / "a.h5")).empty());
      REQUIRE_ON_ALL_RANKS(world().rank() != 0 || shows_expected(path / "a.h5", table));
    }
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
  const auto differences =
      world().size() > 8 ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{-4, 0, 4};
  const auto divisors =
      world().size() > 4 ? std::vector<std::int64_t>{2} : std::vector<std::int64_t>{1, 2, 3};
  for (const CheckpointFiles files : both_file_modes) {
    for (const std::int64_t divisor : divisors) {
      for (const std::int64_t difference : differences) {
        SaveOptions options = save_as(files, 2);
        options.max_piece_bytes = largest / divisor + difference;
        save_expected(world(), path / "a.h5", table, options);
        REQUIRE_ON_ALL_RANKS(loads_expected(world(), path / "a.h5", table, 1,
                                            {LoadContent::everything, options.max_piece_bytes + 4}));
      }
    }
  }
}

// P06: the number of transfers leaves no trace in the file.
BOOST_AUTO_TEST_CASE(a_piece_limit_of_1_mib_gives_the_same_bytes) {
  if (world().size() > 4) {
    return;  // 11 MB: enough for few ranks, and each of many would have less than the limit
  }
  ModelConfig config = small_config(256);
  config.layers = 1;
  const TensorTable table(config);
  BOOST_TEST_REQUIRE(table.units()[1].elements * 4 > 2 << 20);
  SaveOptions limited;
  limited.max_piece_bytes = 1 << 20;
  save_expected(world(), path / "limited.h5", table, limited);
  save_expected(world(), path / "whole.h5", table);
  REQUIRE_ON_ALL_RANKS(read_text_file(path / "limited.h5") == read_text_file(path / "whole.h5"));
  REQUIRE_ON_ALL_RANKS(
      loads_expected(world(), path / "limited.h5", table, 1, {LoadContent::everything, 1 << 20}));
}

BOOST_AUTO_TEST_CASE(large_datasets_start_at_multiples_of_the_alignment) {
  if (world().size() > 8) {
    return;  // nothing that many ranks could change
  }
  const TensorTable table(small_config(32));
  for (const CheckpointFiles files : both_file_modes) {
    SaveOptions options = save_as(files, 2);
    options.alignment_bytes = 8192;
    save_expected(world(), path / "a.h5", table, options);
    const CheckpointInfo info = read_checkpoint_info(path / "a.h5");
    const H5File file = H5File::open(part_path(info, 0), H5File::Access::read);
    const H5DatasetShape shape = file.shape_of("/units/h.0/adam_m");
    BOOST_TEST_CONTEXT(name_of(files)) {
      REQUIRE_ON_ALL_RANKS(shape.stored_bytes < 8192 || shape.file_offset % 8192 == 0);
    }
    world().barrier();
  }
}

BOOST_AUTO_TEST_CASE(independent_transfers_and_hints_write_the_same_bytes) {
  if (world().size() > 8) {
    return;  // slow with aggregators on few cores
  }
  const TensorTable table(small_config());
  save_expected(world(), path / "collective.h5", table);
  SaveOptions options;
  options.io.mode = MpiIoMode::independent;
  options.io.hints = {{"cb_buffer_size", "1048576"}, {"collective_buffering", "true"}};
  save_expected(world(), path / "independent.h5", table, options);
  REQUIRE_ON_ALL_RANKS(read_text_file(path / "collective.h5") == read_text_file(path / "independent.h5"));
  REQUIRE_ON_ALL_RANKS(loads_expected(world(), path / "independent.h5", table, 1));
}

// Ranks of a group need not be neighbours, nor hold one run of a unit.
BOOST_AUTO_TEST_CASE(pieces_in_any_order_and_number) {
  const TensorTable table(small_config());
  const std::int64_t ranks = world().size();
  constexpr std::int64_t length = 7;  // elements of a piece; dealt out to the ranks in turn
  std::vector<std::vector<float>> values;
  std::vector<UnitPiece> pieces;
  for (std::size_t unit = 0; unit < table.units().size(); ++unit) {
    const std::int64_t elements = table.units()[unit].elements;
    for (std::int64_t begin = world().rank() * length; begin < elements; begin += ranks * length) {
      UnitPiece piece{static_cast<std::int64_t>(unit), begin, {}, {}, {}};
      for (const StateKind kind : state_kinds) {
        auto& of_kind = values.emplace_back();
        for (std::int64_t i = begin; i < std::min(begin + length, elements); ++i) {
          of_kind.push_back(expected_value(piece.unit, i, kind));
        }
        (kind == StateKind::param    ? piece.param
         : kind == StateKind::adam_m ? piece.adam_m
                                     : piece.adam_v) = of_kind;
      }
      pieces.insert(pieces.begin(), piece);
    }
  }
  for (const std::int64_t ranks_per_file : {1, 2}) {
    save_checkpoint(world(), path / "a.h5", table, some_state, pieces,
                    save_as(CheckpointFiles::node, ranks_per_file));
    REQUIRE_ON_ALL_RANKS(loads_expected(world(), path / "a.h5", table, 1));
    REQUIRE_ON_ALL_RANKS(verify_tensors(read_checkpoint_info(path / "a.h5")).empty());
    REQUIRE_ON_ALL_RANKS(world().rank() != 0 || shows_expected(path / "a.h5", table));
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
    for (const CheckpointFiles files : both_file_modes) {
      save_checkpoint(world(), path / "a.h5", table, some_state, pieces, save_as(files));
      REQUIRE_ON_ALL_RANKS(loads_expected(world(), path / "a.h5", table, 1));
    }
    // Ranks without elements get no file.
    REQUIRE_ON_ALL_RANKS(read_checkpoint_info(path / "a.h5").parts.files.size() == 1);
    world().barrier();
  }
}

BOOST_AUTO_TEST_CASE(parameters_alone_leave_the_moments) {
  const TensorTable table(small_config());
  for (const CheckpointFiles files : both_file_modes) {
    save_expected(world(), path / "a.h5", table, save_as(files));
    LoadOptions options;
    options.content = LoadContent::parameters;
    REQUIRE_ON_ALL_RANKS(loads_expected(world(), path / "a.h5", table, 1, options));
  }
}

// Replicas: every rank reads the whole model.
BOOST_AUTO_TEST_CASE(ranks_may_read_the_same_pieces) {
  const TensorTable table(small_config());
  const MpiComm self = MpiComm::duplicate(MPI_COMM_SELF);
  for (const CheckpointFiles files : both_file_modes) {
    save_expected(world(), path / "a.h5", table, save_as(files));
    ModelShard whole(table, self, 1);
    load_checkpoint(world(), read_checkpoint_info(world(), path / "a.h5"), table, whole.mutable_pieces());
    REQUIRE_ON_ALL_RANKS(whole.has_expected());
  }
}

// P10: attributes end at 64 KiB; the texts are datasets.
BOOST_AUTO_TEST_CASE(state_of_100_kilobytes_and_3000_paths) {
  const TensorTable table(small_config());
  ModelShard shard(table, world(), 1);
  nlohmann::json state = {{"notes", std::string(100'000, 'n')}, {"umlaut", "\u00fc"}};
  for (int i = 0; i < 3000; ++i) {
    state["paths"].push_back("/data/set/with/a/long/name/shard_" + std::to_string(i) + ".bin");
  }
  for (const CheckpointFiles files : both_file_modes) {
    save_checkpoint(world(), path / "a.h5", table, state, shard.pieces(), save_as(files));
    REQUIRE_ON_ALL_RANKS(read_checkpoint_info(world(), path / "a.h5").state == state);
    REQUIRE_ON_ALL_RANKS(read_checkpoint_info(path / "a.h5").config == table.config());
    world().barrier();
  }
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
