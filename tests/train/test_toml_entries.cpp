#include <sstream>

#include <boost/test/unit_test.hpp>

#include "core/error.hpp"
#include "train/toml_entries.hpp"

using namespace shardgpt;

BOOST_AUTO_TEST_SUITE(toml_entries)

namespace {

std::vector<TomlEntry> read(const std::string& text) {
  std::istringstream input(text);
  return read_toml_entries(input, "job.toml");
}

void refuses(const std::string& text, const std::string& says) {
  BOOST_TEST_CONTEXT(text) {
    BOOST_CHECK_EXCEPTION((void)read(text), InputError, [&](const InputError& error) {
      BOOST_TEST(std::string(error.what()).find(says) != std::string::npos, error.what());
      return true;
    });
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(values_of_every_kind_with_their_lines) {
  const auto entries = read(
      "# comment\n\nseed = 7  # of the run\r\n\tlr=-1.5e-3\n\"run-dir\" = \"a # b\\\"\\\\\\n\"\n"
      "data = 'C:\\x'\ndry-run = true\nsteps = 1_000\nhints = [\n  \"a=b\", # one\n  'c d',\n]\nnone = "
      "[]\nlast = inf");
  const std::vector<std::pair<std::string, std::vector<std::string>>> wanted = {
      {"seed", {"7"}},           {"lr", {"-1.5e-3"}},   {"run-dir", {"a # b\"\\\n"}},
      {"data", {"C:\\x"}},       {"dry-run", {"true"}}, {"steps", {"1000"}},
      {"hints", {"a=b", "c d"}}, {"none", {}},          {"last", {"inf"}}};
  const std::vector<int> lines = {3, 4, 5, 6, 7, 8, 9, 13, 14};
  BOOST_TEST_REQUIRE(entries.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    BOOST_TEST(entries[i].key == wanted[i].first);
    BOOST_TEST(entries[i].line == lines[i]);
    BOOST_TEST(entries[i].is_list == (i == 6 || i == 7));
    BOOST_TEST_REQUIRE(entries[i].values.size() == wanted[i].second.size());
    for (std::size_t j = 0; j < wanted[i].second.size(); ++j) {
      BOOST_TEST(entries[i].values[j].text == wanted[i].second[j]);
      BOOST_TEST(entries[i].values[j].is_string == (i == 2 || i == 3 || i == 6));
    }
  }
  BOOST_TEST(read("").empty());
}

BOOST_AUTO_TEST_CASE(a_key_that_stands_twice_is_refused_with_both_lines) {
  refuses("seed = 1\nseed = 2\n", "job.toml:2: 'seed' stands here a second time, the first is in line 1");
  refuses("seed = 1\nlr = 1\n\n'seed' = 1\n", "job.toml:4: 'seed' stands here a second time");
}

BOOST_AUTO_TEST_CASE(what_is_no_list_of_options_is_refused_with_its_line) {
  refuses("\n[train]\nseed = 1\n", "job.toml:2: tables have no meaning");
  refuses("seed 3\n", "job.toml:1: wanted name = value, found 'seed 3'");
  refuses("a = 1\na.b = 3\nseed: 3\n", "job.toml:3: wanted name = value, found 'seed: 3'");
  refuses("= 3\n", "job.toml:1: wanted name = value");
  refuses("seed = \n", "job.toml:1: 'seed' has no value");
  refuses("seed = 1 2\n", "job.toml:1: 'seed' has more than one value");
  refuses("model = gpt2\n",
          "job.toml:1: the value of 'model' is gpt2, wanted a number, true, false or text in quotes");
  refuses("seed = {a = 1}\n", "job.toml:1: the value of 'seed' is {a");
  refuses("model = \"gpt2\nseed = 1\n", "job.toml:1: text without an end for 'model'");
  refuses("model = \"\\x\"\n", "job.toml:1: unknown escape \\x");
  refuses("a = 1\nhints = [\"a\",\n", "job.toml:2: the list of 'hints' has no end");
  refuses("hints = [\"a\"\n\"b\"]\n", "job.toml:2: the values of 'hints' stand without a comma");
  refuses("hints = [[1]]\n", "job.toml:1: the value of 'hints' is [1");
  refuses("lr = 1.\n", "the value of 'lr' is 1.");
  refuses("lr = 1e\n", "the value of 'lr' is 1e");
}

BOOST_AUTO_TEST_SUITE_END()
