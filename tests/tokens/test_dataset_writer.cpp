#include <boost/test/unit_test.hpp>

#include "token_files.hpp"
#include "tokens/dataset_writer.hpp"
#include "tokens/token_dataset.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(dataset_writer)

namespace {

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

BOOST_AUTO_TEST_CASE(cuts_the_stream_into_shards) {
  const TemporaryFolder folder;
  const DatasetManifest manifest = write_set(folder.path(), counting(0, 25), 10);
  BOOST_TEST(names_in(folder.path()) == (std::vector<std::string>{"dataset.json", "tokens_000000.bin",
                                                                  "tokens_000001.bin", "tokens_000002.bin"}),
             boost::test_tools::per_element());
  BOOST_TEST(manifest.shards.at(2).tokens == 5);
  BOOST_TEST(manifest.shards.at(2).largest_id == 24);
  BOOST_TEST(read_text_file(folder / "tokens_000002.bin") == shard_bytes(counting(20, 5)));
  BOOST_TEST(manifest.shards.at(0).xxh3_64 == hash_file(folder / "tokens_000000.bin"));
}

BOOST_AUTO_TEST_CASE(nothing_is_left_of_an_unfinished_set) {
  const TemporaryFolder folder;
  {
    DatasetWriter writer(folder.path(), "tokens", TokenType::u16, 10, DatasetWriter::Existing::refuse);
    writer.append(counting(0, 25));
    BOOST_TEST(names_in(folder.path()).at(1) == "tokens_000000.bin.tmp");
  }
  BOOST_TEST(names_in(folder.path()).empty());
}

BOOST_AUTO_TEST_CASE(a_finished_set_is_replaced_only_on_demand) {
  const TemporaryFolder folder;
  write_set(folder.path(), counting(0, 25), 10);
  BOOST_CHECK_EXCEPTION(
      DatasetWriter(folder.path(), "tokens", TokenType::u16, 10, DatasetWriter::Existing::refuse), InputError,
      Says({folder.path().string(), "--overwrite"}));
  {
    DatasetWriter writer(folder.path(), "other", TokenType::u16, 10, DatasetWriter::Existing::replace);
    writer.append(counting(0, 3));
    BOOST_TEST(TokenDataset::open(folder.path(), 0).tokens() ==
               25);  // the old set is whole until the new one is
    writer.finish(small_manifest());
  }
  BOOST_TEST(names_in(folder.path()) == (std::vector<std::string>{"dataset.json", "other_000000.bin"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_a_killed_run_left_is_removed) {
  const TemporaryFolder folder;
  write_bytes(folder / "tokens_000007.bin.tmp", "x");
  write_bytes(folder / "notes.bin.tmp", "x");
  write_set(folder.path(), counting(0, 25), 100);
  BOOST_TEST(!std::filesystem::exists(folder / "tokens_000007.bin.tmp"));
  BOOST_TEST(std::filesystem::exists(folder / "notes.bin.tmp"));
}

BOOST_AUTO_TEST_CASE(files_of_others_are_never_removed) {
  const TemporaryFolder folder;
  write_bytes(folder / "pytorch_model.bin", "weights");
  BOOST_CHECK_EXCEPTION(
      DatasetWriter(folder.path(), "tokens", TokenType::u16, 10, DatasetWriter::Existing::replace),
      InputError, Says({"pytorch_model.bin", "another folder"}));
  BOOST_TEST(std::filesystem::exists(folder / "pytorch_model.bin"));
}

BOOST_AUTO_TEST_CASE(ids_that_do_not_fit_are_refused) {
  const TemporaryFolder folder;
  DatasetWriter writer(folder.path(), "tokens", TokenType::u16, 10, DatasetWriter::Existing::refuse);
  writer.append(std::vector<std::int32_t>{65535});
  BOOST_CHECK_EXCEPTION(writer.append(std::vector<std::int32_t>{3, 65536}), InputError,
                        Says({"65536", "uint16"}));
  BOOST_CHECK_EXCEPTION(writer.append(std::vector<std::int32_t>{3, -1}), InputError, Says({"-1"}));
}

BOOST_AUTO_TEST_CASE(wide_ids_survive) {
  const TemporaryFolder folder;
  const std::vector<std::int32_t> ids{0, 65535, 65536, 69999};
  DatasetWriter writer(folder.path(), "tokens", TokenType::u32, 3, DatasetWriter::Existing::refuse);
  writer.append(ids);
  writer.finish(small_manifest("hash-a", 70'000));
  std::vector<std::int32_t> read(4);
  TokenDataset::open(folder.path(), 70'000).read_tokens(0, read);
  BOOST_TEST(read == ids, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_empty_stream_gives_one_empty_shard_that_does_not_train) {
  const TemporaryFolder folder;
  BOOST_TEST(write_set(folder.path(), {}, 10).shards.at(0).tokens == 0);
  BOOST_CHECK_EXCEPTION(static_cast<void>(TokenDataset::open(folder.path(), 0)), InputError,
                        Says({"tokens_000000.bin", "0 tokens"}));
}

BOOST_AUTO_TEST_CASE(what_a_killed_writer_left_is_thrown_away) {
  const TemporaryFolder folder;
  const auto leave = [&](const std::string& state) {
    // Some shards have their final names, one is being written; there is no dataset.json.
    write_bytes(folder / "dataset.json.unfinished", state);
    write_bytes(folder / "tokens_000000.bin", shard_bytes(counting(7, 3)));
    write_bytes(folder / "tokens_000009.bin", shard_bytes(counting(7, 3)));
    write_bytes(folder / "tokens_000001.bin.tmp", "x");
  };
  leave("publishing\n");
  {
    // A writer that fails leaves the folder as unfinished as it was.
    DatasetWriter failing(folder.path(), "tokens", TokenType::u16, 10, DatasetWriter::Existing::refuse);
    BOOST_CHECK_THROW(failing.append(std::vector<std::int32_t>{70'000}), InputError);
  }
  write_set(folder.path(), counting(0, 15), 10);
  BOOST_TEST(names_in(folder.path()) ==
                 (std::vector<std::string>{"dataset.json", "tokens_000000.bin", "tokens_000001.bin"}),
             boost::test_tools::per_element());
  // Without the mark they are somebody's shards.
  std::filesystem::remove(folder / "dataset.json");
  BOOST_CHECK_EXCEPTION(write_set(folder.path(), counting(0, 15), 10), InputError, Says({"--overwrite"}));
}

BOOST_AUTO_TEST_CASE(two_writers_do_not_mix) {
  const TemporaryFolder folder;
  const DatasetWriter first(folder.path(), "tokens", TokenType::u16, 10, DatasetWriter::Existing::refuse);
  BOOST_CHECK_EXCEPTION(
      DatasetWriter(folder.path(), "tokens", TokenType::u16, 10, DatasetWriter::Existing::replace),
      InputError, Says({folder.path().string(), "another shardgpt-prep"}));
}

BOOST_AUTO_TEST_SUITE_END()
