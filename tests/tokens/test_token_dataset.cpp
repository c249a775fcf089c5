#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "token_files.hpp"
#include "tokens/token_dataset.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(token_dataset)

namespace {

void refuses(const std::string& location, const std::vector<std::string>& says,
             std::int64_t vocab_size = 50257) {
  BOOST_CHECK_EXCEPTION(static_cast<void>(TokenDataset::open(location, vocab_size)), InputError, Says(says));
}

/// Root reads everything: while this lives root is somebody else.
struct NotRoot {
  const uid_t user = ::geteuid();
  NotRoot() { become(user == 0 ? 65534 : user); }
  ~NotRoot() { become(user); }
  static void become(uid_t id) { BOOST_TEST(::seteuid(id) == 0); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(windows_cross_shard_borders) {
  const TemporaryFolder folder;
  write_set(folder.path(), counting(0, 33), 7);
  const TokenDataset dataset = TokenDataset::open(folder.path(), 50257);
  BOOST_TEST(dataset.tokens() == 33);
  BOOST_TEST(dataset.windows(16) == 2);
  BOOST_TEST(dataset.windows(17) == 1);
  BOOST_TEST(dataset.windows(33) == 0);
  std::vector<std::int32_t> inputs(16);
  std::vector<std::int32_t> targets(16);
  for (std::int32_t window = 0; window < 2; ++window) {
    dataset.read_window(window, 16, inputs, targets);
    BOOST_TEST(inputs == counting(window * 16, 16), boost::test_tools::per_element());
    BOOST_TEST(targets == counting(window * 16 + 1, 16), boost::test_tools::per_element());
  }
  BOOST_CHECK_THROW(dataset.read_window(2, 16, inputs, targets), std::out_of_range);
  BOOST_CHECK_THROW(dataset.read_window(-1, 16, inputs, targets), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(shards_join_in_bytewise_order_whatever_the_locale) {
  const TemporaryFolder folder;
  // Created in an order that is neither; a German or English locale would put "a" before "B".
  const std::vector<std::string> names{"a_2", "B_1", "a_10", "_x", "Z", "a-1", "\xc3\xa4"};
  for (const std::string& name : names) {
    write_bytes(folder / (name + ".bin"),
                shard_bytes({name[0] & 0x7f, static_cast<std::int32_t>(name.size())}));
  }
  const TokenDataset dataset = TokenDataset::open(folder / "*.bin", 50257);
  std::vector<std::string> order;
  for (const auto& shard : dataset.shards()) {
    order.push_back(shard.file.path().stem().string());
  }
  BOOST_TEST(order == (std::vector<std::string>{"B_1", "Z", "_x", "a-1", "a_10", "a_2", "\xc3\xa4"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(foreign_shards_come_by_pattern_or_alone) {
  const TemporaryFolder folder;
  write_bytes(folder / "b.bin", shard_bytes(counting(100, 5)));
  write_bytes(folder / "a.bin", shard_bytes(counting(0, 5)));
  BOOST_TEST(TokenDataset::open(folder / "*.bin", 50257).tokens() == 10);
  BOOST_TEST(TokenDataset::open(folder / "b.bin", 50257).tokens() == 5);
  BOOST_TEST(!TokenDataset::open(folder / "*.bin", 50257).recorded_largest_id().has_value());
  refuses(folder.path(), {folder.path().string(), "no dataset.json", "/*.bin"});
}

BOOST_AUTO_TEST_CASE(nothing_found_is_refused) {
  const TemporaryFolder folder;
  refuses(folder.path(), {folder.path().string(), "neither dataset.json nor"});
  refuses(folder / "*.bin", {folder / "*.bin", "no file or folder matches"});
  refuses(folder / "absent", {folder / "absent"});
  refuses("", {"empty"});
}

BOOST_AUTO_TEST_CASE(an_empty_shard_is_refused_by_name) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.bin", shard_bytes({1, 2}));
  write_bytes(folder / "b.bin", shard_bytes({}));
  write_bytes(folder / "c.bin", shard_bytes({1, 2}));
  refuses(folder / "*.bin", {folder / "b.bin", "0 tokens"});
}

BOOST_AUTO_TEST_CASE(unreadable_and_odd_files_are_refused) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "a.bin");
  refuses(folder / "*.bin", {folder / "a.bin", "not a regular file"});
  std::filesystem::remove(folder / "a.bin");
  std::filesystem::create_symlink("nowhere", folder / "a.bin");
  refuses(folder / "*.bin", {folder / "a.bin", "No such file"});
  write_bytes(folder / "b.bin", shard_bytes({1}));
  std::filesystem::permissions(folder / "b.bin", std::filesystem::perms::none);
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  const NotRoot user;
  refuses(folder / "b.bin", {folder / "b.bin", "Permission denied"});
}

BOOST_AUTO_TEST_CASE(a_set_must_be_what_its_manifest_says) {
  const TemporaryFolder folder;
  write_set(folder.path(), counting(0, 30), 10);
  BOOST_TEST(TokenDataset::open(folder.path(), 50257).recorded_largest_id().value() == 29);

  write_bytes(folder / "tokens_000003.bin", shard_bytes({1, 2}));
  refuses(folder.path(), {"tokens_000003.bin", "not listed"});
  std::filesystem::remove(folder / "tokens_000003.bin");

  write_bytes(folder / "tokens_000001.bin", shard_bytes({1, 2}));
  refuses(folder.path(), {"tokens_000001.bin", "2 tokens", "10 tokens"});
  refuses(folder / "tokens_000001.bin", {"tokens_000001.bin", "2 tokens", "10 tokens"});

  std::filesystem::remove(folder / "tokens_000001.bin");
  refuses(folder.path(), {"tokens_000001.bin", "missing"});
}

BOOST_AUTO_TEST_CASE(shards_of_different_tokenizers_are_refused) {
  const TemporaryFolder folder;
  write_set(folder.path() / "a", counting(0, 30), 10, "hash-a");
  write_set(folder.path() / "b", counting(0, 30), 10, "hash-b");
  write_set(folder.path() / "c", counting(0, 30), 10, "hash-a");
  refuses(folder / "*/*.bin", {"different tokenizers", "hash-a", "hash-b"});
  const TokenDataset same = TokenDataset::open(folder / "[ac]/*.bin", 50257);
  BOOST_TEST(same.tokens() == 60);
  BOOST_TEST(same.tokenizer_hash() == "hash-a");
  // One of unknown origin among them is as suspect.
  write_bytes(folder / "a/foreign.bin", shard_bytes({1}));
  refuses(folder / "a/*.bin", {"different tokenizers", "hash-a", "not recorded"});
}

BOOST_AUTO_TEST_CASE(ids_outside_the_vocabulary_are_found) {
  const TemporaryFolder folder;
  std::vector<std::int32_t> ids = counting(0, 100);
  ids[57] = 50257;
  write_bytes(folder / "a.bin", shard_bytes(counting(0, 64)));
  write_bytes(folder / "b.bin", shard_bytes(ids));
  const TokenDataset dataset = TokenDataset::open(folder / "*.bin", 50257);
  const Says says({folder / "b.bin", "token 57", "byte 1138", "id 50257", "50257 entries"});
  std::vector<std::int32_t> inputs(32);
  std::vector<std::int32_t> targets(32);
  dataset.read_window(2, 32, inputs, targets);
  BOOST_CHECK_EXCEPTION(dataset.read_window(3, 32, inputs, targets), InputError, says);
  BOOST_CHECK_EXCEPTION(dataset.check_ids(0, dataset.tokens()), InputError, says);
  BOOST_CHECK_NO_THROW(dataset.check_ids(0, 121));
  BOOST_TEST(dataset.largest_id_in(0, dataset.tokens()) == 50257);
  BOOST_TEST(dataset.largest_id_in(0, 121) == 63);
  BOOST_TEST(dataset.largest_id_in(64, 64) == -1);
  BOOST_TEST(dataset.payload_bytes() == 328);
  BOOST_CHECK_NO_THROW(TokenDataset::open(folder / "*.bin", 50258).check_ids(0, 164));
}

BOOST_AUTO_TEST_CASE(a_bad_id_that_is_only_a_target_is_found) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.bin", shard_bytes({1, 2, 3, 65535}));
  const TokenDataset dataset = TokenDataset::open(folder / "a.bin", 50257);
  std::vector<std::int32_t> inputs(3);
  std::vector<std::int32_t> targets(3);
  BOOST_CHECK_EXCEPTION(dataset.read_window(0, 3, inputs, targets), InputError,
                        Says({"token 3", "id 65535"}));
}

BOOST_AUTO_TEST_CASE(a_recorded_id_outside_the_vocabulary_is_refused_at_open) {
  const TemporaryFolder folder;
  write_set(folder.path(), {1, 2, 300}, 10);
  refuses(folder.path(), {"tokens_000000.bin", "id 300", "300 entries"}, 300);
  BOOST_CHECK_NO_THROW(static_cast<void>(TokenDataset::open(folder.path(), 301)));
}

// The file is cut while it is mapped. Up to the end of a page what is lost reads as zeros.
BOOST_AUTO_TEST_CASE(a_shard_cut_short_while_in_use_is_an_error_that_names_it) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.bin", shard_bytes(counting(1, 100)));
  write_bytes(folder / "b.bin", shard_bytes(counting(1, 100)));
  const TokenDataset dataset = TokenDataset::open(folder / "*.bin", 50257);
  std::filesystem::resize_file(folder / "b.bin", 1024 + 100);
  std::vector<std::int32_t> inputs(32);
  std::vector<std::int32_t> targets(32);
  dataset.read_window(0, 32, inputs, targets);
  const Says says({folder / "b.bin", "1124 bytes now", "1224 when it was opened", "cut short"});
  BOOST_CHECK_EXCEPTION(dataset.read_window(5, 32, inputs, targets), InputError, says);
  BOOST_CHECK_EXCEPTION(dataset.check_ids(0, dataset.tokens()), InputError, says);
  BOOST_CHECK_EXCEPTION(static_cast<void>(dataset.largest_id_in(100, 110)), InputError, says);
}

BOOST_AUTO_TEST_CASE(a_shard_that_is_replaced_or_deleted_stays_as_it_was) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.bin", shard_bytes(counting(1, 100)));
  const TokenDataset dataset = TokenDataset::open(folder / "a.bin", 50257);
  write_bytes(folder / "new", shard_bytes({7}));
  std::vector<std::int32_t> ids(100);
  std::filesystem::rename(folder / "new", folder / "a.bin");
  dataset.read_tokens(0, ids);
  BOOST_TEST(ids == counting(1, 100), boost::test_tools::per_element());
  std::filesystem::remove(folder / "a.bin");
  dataset.read_tokens(0, ids);
  BOOST_TEST(ids == counting(1, 100), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_fingerprint_follows_the_data_not_the_folder) {
  const TemporaryFolder folder;
  write_set(folder.path() / "a", counting(0, 30), 10);
  write_set(folder.path() / "b", counting(0, 30), 10);
  write_set(folder.path() / "c", counting(0, 30), 15);
  std::vector<std::int32_t> ids = counting(0, 30);
  ids[12] = 0;
  write_set(folder.path() / "d", ids, 10);
  const auto fingerprint = [&](const std::string& name) {
    return TokenDataset::open(folder / name, 50257).fingerprint();
  };
  BOOST_TEST(fingerprint("a").size() == 16U);
  BOOST_TEST(fingerprint("a") == fingerprint("b"));
  BOOST_TEST(fingerprint("a") != fingerprint("c"));
  BOOST_TEST(fingerprint("a") != fingerprint("d"));
  BOOST_TEST(fingerprint("a") == fingerprint("a/*.bin"));
}

BOOST_AUTO_TEST_SUITE_END()
