#define BOOST_TEST_MODULE prep_program
#include <cstdlib>

#include <boost/test/unit_test.hpp>
#include <sys/wait.h>

#include "core/atomic_file.hpp"
#include "small_tokenizer.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

namespace {

struct Fixture {
  TemporaryFolder folder;

  /// Exit code of shardgpt-prep with these arguments, run by the shell in the folder.
  [[nodiscard]] int run(const std::string& arguments, const std::string& before = "") const {
    const std::string program = boost::unit_test::framework::master_test_suite().argv[1];
    const std::string command = "cd '" + folder.path().string() + "' && " + before + " '" + program + "' " +
                                arguments + " > out.txt 2> err.txt";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] std::string output(const std::string& file = "out.txt") const {
    return read_text_file(folder / file);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(from_text_to_shards_and_back, Fixture) {
  const std::string text = english_like(20'000);
  write_bytes(folder / "x.txt", text);
  BOOST_TEST(run("train-bpe --vocab-size 400 --output bpe x.txt") == 0);
  BOOST_TEST(run("encode --vocab bpe/vocab.json --merges bpe/merges.txt --output set x.txt") == 0);
  BOOST_TEST(run("verify set") == 0);
  BOOST_TEST(run("inspect set") == 0);
  BOOST_TEST(run("decode --skip-eot set") == 0);
  BOOST_TEST((output() == text));
  // Standard input gives the same ids.
  BOOST_TEST(run("encode --vocab bpe/vocab.json --merges bpe/merges.txt --output piped -", "cat x.txt |") ==
             0);
  BOOST_TEST((output("piped/tokens_000000.bin") == output("set/tokens_000000.bin")));
}

BOOST_FIXTURE_TEST_CASE(the_locale_of_the_environment_changes_nothing, Fixture) {
  write_small_tokenizer(folder);
  write_bytes(folder / "x.txt", "na\xc3\xafve Senj\xc5\x8d \xe6\x97\xa5\xe6\x9c\xac 12 it\xe2\x80\x99s\n");
  for (const std::string locale : {"C", "C.UTF-8"}) {
    BOOST_TEST(run("encode --vocab vocab.json --merges merges.txt --output " + locale + " x.txt",
                   "LC_ALL=" + locale) == 0);
  }
  BOOST_TEST((output("C/tokens_000000.bin") == output("C.UTF-8/tokens_000000.bin")));
}

BOOST_FIXTURE_TEST_CASE(a_file_without_text_is_named_and_does_no_harm, Fixture) {
  write_small_tokenizer(folder);
  write_bytes(folder / "good.txt", "the");
  write_bytes(folder / "empty.txt", "");
  BOOST_TEST(run("encode --vocab vocab.json --merges merges.txt --output set good.txt empty.txt") == 0);
  BOOST_TEST(output("err.txt").find("warning: empty.txt holds no text") != std::string::npos);
  BOOST_TEST(run("verify set") == 0);
}

BOOST_FIXTURE_TEST_CASE(bad_usage_and_bad_input_exit_with_2_and_one_line, Fixture) {
  write_small_tokenizer(folder);
  write_bytes(folder / "bad.jsonl", "{\"text\": 1}\n");
  for (const std::string arguments :
       {"", "bake", "inspect --bogus .", "verify .", "inspect absent", "decode absent.bin",
        "encode --vocab vocab.json --merges merges.txt --output set absent.txt",
        "encode --vocab vocab.json --merges merges.txt --output set bad.jsonl"}) {
    BOOST_TEST(run(arguments) == 2, arguments);
    const std::string message = output("err.txt");
    BOOST_TEST(std::count(message.begin(), message.end(), '\n') == 1, message);
  }
  BOOST_TEST(run("--help") == 0);
  BOOST_TEST(run("--version") == 0);
}

BOOST_FIXTURE_TEST_CASE(a_full_disk_is_an_error, Fixture) {
  write_small_tokenizer(folder);
  write_bytes(folder / "a.bin", shard_bytes(std::vector<std::int32_t>(100'000, 7)));
  BOOST_TEST(run("decode --vocab vocab.json --merges merges.txt --output /dev/full a.bin") == 1);
  BOOST_TEST(output("err.txt").find("/dev/full") != std::string::npos);
}
