#include <filesystem>
#include <fstream>

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "train/train_options.hpp"

using namespace shardgpt;

namespace {

/// A configuration file for one test.
struct ConfigurationFile {
  std::string file =
      (std::filesystem::temp_directory_path() / ("shardgpt-options-" + std::to_string(::getpid()) + ".toml"))
          .string();
  ~ConfigurationFile() { std::filesystem::remove(file); }

  [[nodiscard]] ParseResult parse(const std::string& content, std::vector<const char*> more = {}) const {
    std::ofstream(file) << content;
    std::vector<const char*> arguments = {"shardgpt-train", "--config", file.c_str(),
                                          "--dry-run",      "--model",  "gpt2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return parse_train_options(static_cast<int>(arguments.size()), arguments.data());
  }
  void refuses(const std::string& content, const std::string& line, const std::string& says,
               const std::vector<const char*>& more = {}) const {
    const std::string error = parse(content, more).error;
    BOOST_TEST_CONTEXT(content << ": " << error) {
      BOOST_TEST(error.find(file + ":" + line) != std::string::npos);
      BOOST_TEST(error.find(says) != std::string::npos);
    }
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(train_options, ConfigurationFile)

BOOST_AUTO_TEST_CASE(options_of_the_file_arrive_and_the_command_line_wins) {
  const ParseResult result = parse(
      "steps = 20\nlr = 1e-3\nrun-dir = \"a # b, c\"\norder = 'sequential'\ncpu-offload = true\n"
      "checkpoint-hint = [\n  \"a=1, 2\",\n  \"b=3\"\n]\nseed = 1\n",
      {"--seed", "2"});
  BOOST_TEST(result.error == "");
  BOOST_TEST(result.config.data.steps == 20);
  BOOST_TEST(result.config.optimizer.lr == 1e-3);
  BOOST_TEST(result.config.run.run_dir == "a # b, c");
  BOOST_TEST(result.config.data.order == "sequential");
  BOOST_TEST(result.config.device.cpu_offload);
  BOOST_TEST(result.config.checkpoint.hints == (std::vector<std::string>{"a=1, 2", "b=3"}),
             boost::test_tools::per_element());
  BOOST_TEST(result.config.data.seed == 2);
  BOOST_TEST(parse("steps = 1\ncheckpoint-hint = \"a=b\"\n").config.checkpoint.hints.at(0) == "a=b");
  BOOST_TEST(!parse("steps = 1\ncpu-offload = false\n").config.device.cpu_offload);
}

BOOST_AUTO_TEST_CASE(a_key_that_stands_twice_is_refused) {
  refuses("steps = 1\nseed = 1\nseed = 2\n", "3", "'seed' stands here a second time, the first is in line 2");
  refuses("steps = 1\ncheckpoint-hint = \"a=b\"\ncheckpoint-hint = \"c=d\"\n", "3", "'checkpoint-hint'");
}

BOOST_AUTO_TEST_CASE(lists_and_values_of_the_wrong_kind_are_refused) {
  refuses("steps = 1\nlr = [1e-3, 2e-3]\n", "2", "'lr' is a list of 2, wanted one value");
  refuses("steps = 1\nseed = []\n", "2", "'seed' is a list of 0, wanted one value");
  refuses("cpu-offload = [true]\n", "1", "'cpu-offload' is a list of 1");
  refuses("cpu-offload = 3\n", "1", "'cpu-offload' is 3, wanted true or false");
  refuses("cpu-offload = \"true\"\n", "1", "'cpu-offload' is true, wanted true or false");
  refuses("steps = 1\ncheckpoint-hint = [1, 2]\n", "2",
          "'checkpoint-hint' holds 1, wanted text in quotes only");
  refuses("steps = 1\nseed = \"x\"\n", "2", "--seed");
  refuses("steps = 1.5\n", "1", "--steps");
  refuses("steps = 1\norder = \"random\"\n", "2", "--order");
  refuses("steps = 1\nseq-len = 0\n", "2", "--seq-len is 0");
}

BOOST_AUTO_TEST_CASE(unknown_names_are_refused) {
  refuses("steps = 1\nlearning-rate = 3\n", "2", "unknown option 'learning-rate'");
  refuses("config = \"other.toml\"\n", "1", "unknown option 'config'");
  refuses("help = true\n", "1", "unknown option 'help'");
}

// A wrong value of the command line is not blamed on the file.
BOOST_AUTO_TEST_CASE(errors_of_the_command_line_name_no_line) {
  const std::string error = parse("steps = 1\nseed = 1\n", {"--seed", "x"}).error;
  BOOST_TEST(error.find("--seed") != std::string::npos);
  BOOST_TEST(error.find(file) == std::string::npos, error);
}

BOOST_AUTO_TEST_SUITE_END()
