// Damage to a finished checkpoint is found at load, on any number of ranks, and by verify.
#include <fstream>
#include <random>

#include <boost/test/unit_test.hpp>

#include "checkpoint/checkpoint_error.hpp"
#include "checkpoint/verify.hpp"
#include "checkpoint_fixture.hpp"

using namespace shardgpt;

namespace {

struct SavedCheckpoint : SharedFolder {
  TensorTable table{small_config()};
  std::filesystem::path file = path / "a.h5";

  SavedCheckpoint() {
    ModelShard shard(table, world(), 1);
    shard.fill_expected();
    save_checkpoint(world(), file, table, {{"step", 7}, {"note", "text"}}, shard.pieces());
  }

  /// Changes the file on rank 0 while the others wait.
  template <class Change>
  void change(Change&& apply) const {
    world().barrier();
    if (world().rank() == 0) {
      apply();
    }
    world().barrier();
  }

  /// The error of a load, empty where it succeeded; `intact` says whether the values are right then.
  std::string load(bool& intact) const {
    ModelShard shard(table, world(), 1);
    shard.fill_garbage();
    const std::string error = error_of([&] {
      load_checkpoint(world(), read_checkpoint_info(world(), file), table, shard.mutable_pieces());
    });
    intact = shard.has_expected();
    return error;
  }

  /// What a serial check of everything finds.
  std::string verify() const {
    std::string problems;
    const std::string error = error_of([&] {
      for (const std::string& problem : verify_tensors(read_checkpoint_info(file))) {
        problems += problem;
      }
    });
    return error + problems;
  }
};

struct ByteRange {
  std::string dataset;
  std::int64_t begin;
  std::int64_t bytes;
};

/// Every dataset of the file and where its bytes are.
std::vector<ByteRange> dataset_ranges(const std::filesystem::path& file, const TensorTable& table) {
  std::vector<std::string> names = {"/format",         "/config",           "/state",
                                    "/tensors/name",   "/tensors/unit",     "/tensors/offset",
                                    "/tensors/shape",  "/checksums/config", "/checksums/state",
                                    "/checksums/table"};
  for (const StateKind kind : state_kinds) {
    names.push_back(layout::kind_checksums(kind));
    for (const UnitSpec& unit : table.units()) {
      names.push_back(layout::unit_dataset(unit.name, kind));
    }
  }
  const H5File h5 = H5File::open(file, H5File::Access::read);
  std::vector<ByteRange> ranges;
  for (const std::string& name : names) {
    const H5DatasetShape shape = h5.shape_of(name);
    ranges.push_back({name, shape.file_offset, shape.stored_bytes});
  }
  return ranges;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(faults, SavedCheckpoint)

BOOST_AUTO_TEST_CASE(a_flipped_bit_in_any_dataset_is_found) {
  std::mt19937 random(20240520);  // the same on every rank
  for (const ByteRange& range : dataset_ranges(file, table)) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      const std::int64_t offset =
          range.begin + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(range.bytes));
      const auto mask = static_cast<unsigned char>(1U << (random() % 8));
      change([&] { flip_byte(file, offset, mask); });
      bool intact = false;
      const std::string error = load(intact);
      BOOST_TEST_CONTEXT(range.dataset << " byte " << offset) {
        REQUIRE_ON_ALL_RANKS(!error.empty());
        REQUIRE_ON_ALL_RANKS(error.find("a.h5") != std::string::npos);
        REQUIRE_ON_ALL_RANKS(!verify().empty());
      }
      change([&] { flip_byte(file, offset, mask); });
    }
  }
  bool intact = false;
  REQUIRE_ON_ALL_RANKS(load(intact).empty() && intact && verify().empty());
}

BOOST_AUTO_TEST_CASE(a_changed_byte_anywhere_is_found_or_has_no_meaning) {
  std::mt19937 random(7);
  const auto bytes = static_cast<std::uint64_t>(std::filesystem::file_size(file));
  const int repeats = world().size() == 1 ? 300 : 60;
  int found = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const auto offset = static_cast<std::int64_t>(random() % bytes);
    const auto mask = static_cast<unsigned char>(1 + random() % 255);
    change([&] { flip_byte(file, offset, mask); });
    bool intact = false;
    const std::string error = load(intact);
    found += error.empty() ? 0 : 1;
    BOOST_TEST_CONTEXT("byte " << offset) {
      REQUIRE_ON_ALL_RANKS(!error.empty() || intact);
    }
    change([&] { flip_byte(file, offset, mask); });
  }
  REQUIRE_ON_ALL_RANKS(found > repeats / 2);
}

BOOST_AUTO_TEST_CASE(a_file_cut_short_is_damaged) {
  const auto bytes = std::filesystem::file_size(file);
  for (const std::uintmax_t size : {bytes - 1, bytes / 2, std::uintmax_t{100}, std::uintmax_t{0}}) {
    change([&] { std::filesystem::resize_file(file, size); });
    bool damaged = false;
    try {
      (void)read_checkpoint_info(world(), file);
    } catch (const DamagedCheckpoint&) {
      damaged = true;
    }
    BOOST_TEST_CONTEXT("size " << size) {
      REQUIRE_ON_ALL_RANKS(damaged);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_zeroed_superblock_is_damaged) {
  change([&] {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out << std::string(96, '\0');
  });
  bool intact = false;
  REQUIRE_ON_ALL_RANKS(load(intact).find("is damaged") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_unknown_layout_version_is_refused_and_not_called_damaged) {
  const auto ranges = dataset_ranges(file, table);
  change([&] { flip_byte(file, ranges[0].begin, 6); });  // 1 becomes 7
  bool intact = false;
  const std::string error = load(intact);
  REQUIRE_ON_ALL_RANKS(error.find("layout version 7") != std::string::npos);
  REQUIRE_ON_ALL_RANKS(error.find("damaged") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(files_that_are_no_checkpoints_are_refused_by_name) {
  const auto text = path / "text.h5";
  change([&] { std::ofstream(text) << "no HDF5"; });
  REQUIRE_ON_ALL_RANKS(error_of([&] { (void)read_checkpoint_info(world(), text); }).find("text.h5") !=
                       std::string::npos);
  const std::string missing = error_of([&] { (void)read_checkpoint_info(world(), path / "missing.h5"); });
  REQUIRE_ON_ALL_RANKS(missing.find("missing.h5: No such file") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
