// Damage to a finished checkpoint is found at load, on any number of ranks, and by verify.
#include <fstream>
#include <random>

#include <boost/test/unit_test.hpp>

#include "checkpoint/checkpoint_error.hpp"
#include "checkpoint/verify.hpp"
#include "checkpoint_fixture.hpp"

using namespace shardgpt;

namespace {

template <CheckpointFiles Files>
struct SavedCheckpoint : SharedFolder {
  TensorTable table{small_config()};
  std::filesystem::path file = path / "a.h5";
  std::vector<std::filesystem::path> all_files;  // the checkpoint's, the one with its name first

  SavedCheckpoint() {
    save();
    const CheckpointInfo info = read_checkpoint_info(file);
    all_files.push_back(file);
    for (std::size_t part = 0; !info.parts.in_one_file() && part < info.parts.files.size(); ++part) {
      all_files.push_back(part_path(info, static_cast<std::int64_t>(part)));
    }
  }

  void save() const {
    ModelShard shard(table, world(), 1);
    shard.fill_expected();
    save_checkpoint(world(), file, table, {{"step", 7}, {"note", "text"}}, shard.pieces(), save_as(Files));
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
  std::filesystem::path file;
  std::string dataset;
  std::int64_t begin;
  std::int64_t bytes;
};

/// Every dataset with bytes of its own in a checkpoint of either kind or in a part, and where they are.
std::vector<ByteRange> dataset_ranges(const std::vector<std::filesystem::path>& files,
                                      const TensorTable& table) {
  std::vector<std::string> names = {
      "/format",          "/config",          "/state",           "/tensors/name",
      "/tensors/unit",    "/tensors/offset",  "/tensors/shape",   "/checksums/config",
      "/checksums/state", "/checksums/table", "/checksums/parts", "/part_of",
      "/parts/save",      "/parts/name",      "/parts/bytes",     "/runs/part",
      "/runs/unit",       "/runs/begin",      "/runs/count",      "/runs/offset"};
  for (const StateKind kind : state_kinds) {
    names.push_back(layout::kind_checksums(kind));
    for (const UnitSpec& unit : table.units()) {
      names.push_back(layout::unit_dataset(unit.name, kind));
    }
  }
  std::vector<ByteRange> ranges;
  for (const auto& file : files) {
    const H5File h5 = H5File::open(file, H5File::Access::read);
    for (const std::string& name : names) {
      if (h5.contains(name) && h5.shape_of(name).is_contiguous) {
        const H5DatasetShape shape = h5.shape_of(name);
        ranges.push_back({file, name, shape.file_offset, shape.stored_bytes});
      }
    }
  }
  return ranges;
}

/// Flips a bit of every dataset in turn: load and verify must both miss it.
template <class Saved>
void flip_in_every_dataset(const Saved& saved, int repeats) {
  std::mt19937 random(20240520);  // the same on every rank
  for (const ByteRange& range : dataset_ranges(saved.all_files, saved.table)) {
    for (int repeat = 0; repeat < repeats; ++repeat) {
      const std::int64_t offset =
          range.begin + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(range.bytes));
      const auto mask = static_cast<unsigned char>(1U << (random() % 8));
      saved.change([&] { flip_byte(range.file, offset, mask); });
      bool intact = false;
      const std::string error = saved.load(intact);
      BOOST_TEST_CONTEXT(range.file << ' ' << range.dataset << " byte " << offset) {
        REQUIRE_ON_ALL_RANKS(!error.empty());
        REQUIRE_ON_ALL_RANKS(error.find("a.h5") != std::string::npos);
        REQUIRE_ON_ALL_RANKS(!saved.verify().empty());
      }
      saved.change([&] { flip_byte(range.file, offset, mask); });
    }
  }
  bool intact = false;
  REQUIRE_ON_ALL_RANKS(saved.load(intact).empty() && intact && saved.verify().empty());
}

/// Changes bytes anywhere, structure and padding included: found, or without effect.
template <class Saved>
void change_bytes_anywhere(const Saved& saved, int repeats) {
  std::mt19937 random(7);
  int found = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const auto& file = saved.all_files[static_cast<std::size_t>(repeat) % saved.all_files.size()];
    const auto offset = static_cast<std::int64_t>(random() % std::filesystem::file_size(file));
    const auto mask = static_cast<unsigned char>(1 + random() % 255);
    saved.change([&] { flip_byte(file, offset, mask); });
    bool intact = false;
    const std::string error = saved.load(intact);
    found += error.empty() ? 0 : 1;
    BOOST_TEST_CONTEXT(file << " byte " << offset) {
      REQUIRE_ON_ALL_RANKS(!error.empty() || intact);
    }
    saved.change([&] { flip_byte(file, offset, mask); });
  }
  REQUIRE_ON_ALL_RANKS(found > repeats / 2);
}

/// Whether the checkpoint counts as damaged, so that resuming goes on to an older one; `error` is the reason.
bool is_damaged(const std::filesystem::path& file, std::string& error) {
  try {
    (void)read_checkpoint_info(world(), file);
  } catch (const DamagedCheckpoint& damaged) {
    error = damaged.what();
    return true;
  }
  return false;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(faults, SavedCheckpoint<CheckpointFiles::shared>)

BOOST_AUTO_TEST_CASE(a_flipped_bit_in_any_dataset_is_found) {
  flip_in_every_dataset(*this, 3);
}

BOOST_AUTO_TEST_CASE(a_changed_byte_anywhere_is_found_or_has_no_meaning) {
  change_bytes_anywhere(*this, world().size() == 1 ? 300 : 60);
}

BOOST_AUTO_TEST_CASE(a_file_cut_short_is_damaged) {
  const auto bytes = std::filesystem::file_size(file);
  for (const std::uintmax_t size : {bytes - 1, bytes / 2, std::uintmax_t{100}, std::uintmax_t{0}}) {
    change([&] { std::filesystem::resize_file(file, size); });
    std::string error;
    BOOST_TEST_CONTEXT("size " << size) {
      REQUIRE_ON_ALL_RANKS(is_damaged(file, error));
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
  const auto ranges = dataset_ranges(all_files, table);
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

// The same for an index with one part for each rank.
BOOST_FIXTURE_TEST_SUITE(faults_in_parts, SavedCheckpoint<CheckpointFiles::node>)

BOOST_AUTO_TEST_CASE(a_flipped_bit_in_any_dataset_is_found) {
  BOOST_TEST(all_files.size() == 1 + static_cast<std::size_t>(world().size()));
  flip_in_every_dataset(*this, 2);
}

BOOST_AUTO_TEST_CASE(a_changed_byte_anywhere_is_found_or_has_no_meaning) {
  change_bytes_anywhere(*this, world().size() == 1 ? 300 : 60);
}

BOOST_AUTO_TEST_CASE(a_part_that_is_missing_cut_or_too_long_is_damage_and_named) {
  const auto& part = all_files.back();
  const auto aside = path / "aside";
  std::string error;
  change([&] { std::filesystem::rename(part, aside); });
  REQUIRE_ON_ALL_RANKS(is_damaged(file, error));
  REQUIRE_ON_ALL_RANKS(error.find(part.filename().string() + ": it is missing") != std::string::npos);
  REQUIRE_ON_ALL_RANKS(verify().find("it is missing") != std::string::npos);
  const auto bytes = std::filesystem::file_size(aside);
  for (const std::uintmax_t size : {bytes - 1, bytes / 2, std::uintmax_t{0}, bytes + 1}) {
    change([&] {
      std::filesystem::copy_file(aside, part, std::filesystem::copy_options::overwrite_existing);
      std::filesystem::resize_file(part, size);
    });
    BOOST_TEST_CONTEXT("size " << size) {
      REQUIRE_ON_ALL_RANKS(is_damaged(file, error));
      REQUIRE_ON_ALL_RANKS(error.find(part.filename().string()) != std::string::npos);
      REQUIRE_ON_ALL_RANKS(error.find("wanted " + std::to_string(bytes)) != std::string::npos);
    }
  }
  change([&] { std::filesystem::rename(aside, part); });
  bool intact = false;
  REQUIRE_ON_ALL_RANKS(load(intact).empty() && intact);
}

BOOST_AUTO_TEST_CASE(a_part_of_another_save_or_of_another_rank_is_damage) {
  const auto& part = all_files.back();
  const auto other = path / "other";
  change([&] { std::filesystem::copy_file(part, other); });
  save();  // the same content again: only the save differs
  const auto replacement = part_path(read_checkpoint_info(file), world().size() - 1);
  world().barrier();
  REQUIRE_ON_ALL_RANKS(!std::filesystem::exists(part));
  change([&] {
    std::filesystem::copy_file(other, replacement, std::filesystem::copy_options::overwrite_existing);
  });
  std::string error;
  REQUIRE_ON_ALL_RANKS(is_damaged(file, error));
  REQUIRE_ON_ALL_RANKS(error.find("another save") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_part_is_no_checkpoint_and_no_damaged_one) {
  const std::string error = error_of([&] { (void)read_checkpoint_info(world(), all_files.back()); });
  REQUIRE_ON_ALL_RANKS(error.find("is one part of a checkpoint in several files") != std::string::npos);
  REQUIRE_ON_ALL_RANKS(error.find("damaged") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_files_may_move_together) {
  const auto elsewhere = path / "elsewhere";
  change([&] {
    std::filesystem::create_directory(elsewhere);
    std::filesystem::rename(file, elsewhere / "best.h5");
    std::filesystem::rename(all_files.back().parent_path(),
                            elsewhere / all_files.back().parent_path().filename());
  });
  ModelShard shard(table, world(), 1);
  shard.fill_garbage();
  load_checkpoint(world(), read_checkpoint_info(world(), elsewhere / "best.h5"), table,
                  shard.mutable_pieces());
  REQUIRE_ON_ALL_RANKS(shard.has_expected());
}

BOOST_AUTO_TEST_SUITE_END()
