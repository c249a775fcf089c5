#define BOOST_TEST_MODULE prep_killed
#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "small_tokenizer.hpp"

// argv: program under test, number of kills.

using namespace shardgpt;
using namespace shardgpt::testing;

namespace {

const char* argument(int number) {
  return boost::unit_test::framework::master_test_suite().argv[number];
}

struct Fixture {
  TemporaryFolder folder;

  Fixture() {
    write_small_tokenizer(folder);
    for (const char* name : {"a.txt", "b.txt", "c.txt"}) {
      write_bytes(folder / name, english_like(1'500'000, static_cast<std::uint64_t>(name[0])));
    }
  }

  /// Starts `encode`, with `input` as its standard input; the caller waits for it.
  [[nodiscard]] pid_t start(const std::string& output, const std::vector<std::string>& more,
                            int input = STDIN_FILENO) const {
    std::vector<std::string> words = {
        argument(1),           "encode",   "--vocab",        folder / "vocab.json", "--merges",
        folder / "merges.txt", "--output", folder / output,  "--shard-tokens",      "50000",
        "--threads",           "2",        folder / "a.txt", folder / "b.txt",      folder / "c.txt"};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    for (std::string& word : words) {
      arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    const std::string log = folder / "log.txt";
    const pid_t child = ::fork();
    if (child == 0) {
      const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(file, STDOUT_FILENO);
      ::dup2(file, STDERR_FILENO);
      ::dup2(input, STDIN_FILENO);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    return child;
  }
  static int wait_for(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] int run(const std::string& output, const std::vector<std::string>& more) const {
    return wait_for(start(output, more));
  }
  [[nodiscard]] std::vector<std::string> hashes(const std::string& set) const {
    std::vector<std::string> result;
    for (const ShardRecord& shard : read_manifest(folder / set).shards) {
      result.push_back(shard.file + " " + hash_file(std::filesystem::path(folder / set) / shard.file));
      BOOST_TEST_REQUIRE(result.back() == shard.file + " " + shard.xxh3_64);
    }
    return result;
  }
  [[nodiscard]] bool has_manifest(const std::string& set) const {
    return std::filesystem::exists(folder / (set + "/dataset.json"));
  }

  void kill_and_run_again(const std::vector<std::string>& sets, const std::vector<std::string>& more) {
    const auto begin = std::chrono::steady_clock::now();
    BOOST_TEST_REQUIRE(run("whole", more) == 0);
    const auto whole_run = std::chrono::steady_clock::now() - begin;
    TestRandom random(static_cast<std::uint64_t>(::getpid()));
    const int kills = std::atoi(argument(2));
    int finished = 0;
    for (int i = 0; i < kills; ++i) {
      std::filesystem::remove_all(folder / "set");
      const std::uint32_t permille = 1 + random.below(1100);  // some come too late, some while it publishes
      const pid_t child = start("set", more);
      std::this_thread::sleep_for(whole_run * permille / 1000);
      ::kill(child, SIGKILL);
      finished += wait_for(child) == 0 ? 1 : 0;
      // What looks finished is finished.
      for (const std::string& set : sets) {
        if (has_manifest("set" + set)) {
          BOOST_TEST(hashes("set" + set) == hashes("whole" + set), boost::test_tools::per_element());
        }
      }
      const int again = run("set", more);
      if (again != 0) {  // refused: then all of it was complete
        BOOST_TEST(again == 2);
      }
      for (const std::string& set : sets) {
        BOOST_TEST_REQUIRE(has_manifest("set" + set));
        BOOST_TEST(hashes("set" + set) == hashes("whole" + set), boost::test_tools::per_element());
      }
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "set")) {
        BOOST_TEST(entry.path().extension() != ".tmp", entry.path());
      }
    }
    BOOST_TEST_MESSAGE(finished << " of " << kills << " were faster than the kill");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_killed_run_is_never_complete_and_is_started_over, Fixture) {
  kill_and_run_again({""}, {});
}

BOOST_FIXTURE_TEST_CASE(two_sets_are_complete_together, Fixture) {
  kill_and_run_again({"/train", "/val"}, {"--val-fraction", "0.34", "--document", "line"});
}

BOOST_FIXTURE_TEST_CASE(two_runs_do_not_mix, Fixture) {
  std::array<int, 2> pipe{};
  BOOST_TEST_REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  const pid_t first = start("set", {"-"}, pipe[0]);  // cannot end before the pipe's other end is closed
  ::close(pipe[0]);
  // The claim's file is empty until its lock is held.
  const std::filesystem::path claim = folder / "set/dataset.json.unfinished";
  std::error_code missing;
  for (auto size = std::filesystem::file_size(claim, missing); missing || size == 0;
       size = std::filesystem::file_size(claim, missing)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  BOOST_TEST(run("set", {"--overwrite"}) == 2);
  ::close(pipe[1]);
  BOOST_TEST(wait_for(first) == 0);
  BOOST_TEST(run("set", {}) == 2);  // a finished set is not replaced unasked
  BOOST_TEST(run("set", {"--overwrite"}) == 0);
}
