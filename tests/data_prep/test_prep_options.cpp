#include <boost/test/unit_test.hpp>

#include "data_prep/prep_options.hpp"
#include "tests/tokens/token_files.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(prep_options)

namespace {

PrepCommand parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "shardgpt-prep");
  return parse_prep_options(static_cast<int>(arguments.size()), arguments.data());
}

void refuses(const std::vector<const char*>& arguments, const std::string& says) {
  BOOST_CHECK_EXCEPTION(static_cast<void>(parse(arguments)), InputError, Says({says}));
}

}  // namespace

BOOST_AUTO_TEST_CASE(encode_options_arrive) {
  const auto good = std::get<EncodeOptions>(parse({"encode", "--vocab", "V", "--merges", "M", "--output", "O",
                                                   "--threads", "3", "--no-eot", "a", "b"})
                                                .options);
  BOOST_TEST(good.files.size() == 2U);
  BOOST_TEST(good.threads == 3);
  BOOST_TEST(good.no_eot);
  BOOST_TEST(!good.parse_special);
  BOOST_TEST(good.shard_tokens == 100'000'000);
}

BOOST_AUTO_TEST_CASE(other_commands_arrive) {
  BOOST_TEST(
      std::get<TrainBpeOptions>(parse({"train-bpe", "--vocab-size", "1000", "--output", "O", "f"}).options)
          .vocab_size == 1000);
  BOOST_TEST(std::get<DecodeOptions>(parse({"decode", "f.bin"}).options).files.at(0) == "f.bin");
  BOOST_TEST(std::get<InspectOptions>(parse({"inspect", "d"}).options).location == "d");
  BOOST_TEST(std::get<VerifyOptions>(parse({"verify", "d"}).options).folder == "d");
}

BOOST_AUTO_TEST_CASE(nonsense_is_refused) {
  refuses({}, "subcommand");
  refuses({"bake"}, "no command 'bake'");
  refuses(
      {"encode", "--vocab", "V", "--merges", "M", "--output", "O", "--shard-tokens", "5000000000000", "f"},
      "2147483647");
  refuses({"inspect", "d", "--bogus"}, "--bogus");
  refuses({"encode", "--vocab", "V", "--merges", "M", "--output", "O"}, "FILE");
  refuses({"encode", "--vocab", "V", "--merges", "M", "f"}, "--output");
  refuses({"encode", "--vocab", "V", "--merges", "M", "--output", "O", "--threads", "many", "f"},
          "--threads");
  refuses({"encode", "--vocab", "V", "--merges", "M", "--output", "O", "--threads", "-1", "f"}, "--threads");
  refuses({"encode", "--vocab", "V", "--merges", "M", "--output", "O", "--format", "xml", "f"}, "--format");
  refuses({"encode", "--vocab", "V", "--merges", "M", "--output", "O", "--document", "page", "f"},
          "--document");
  refuses({"encode", "--vocab", "V", "--merges", "M", "--output", "O", "--val-fraction", "1", "f"},
          "--val-fraction");
  refuses({"encode", "--vocab", "V", "--merges", "M", "--output", "O", "--shard-tokens", "0", "f"},
          "--shard-tokens");
  refuses({"encode", "--vocab", "V", "--merges", "M", "--output", "O", "--end-of-text", "a b", "f"},
          "--end-of-text");
  refuses({"train-bpe", "--vocab-size", "256", "--output", "O", "f"}, "--vocab-size");
  refuses({"train-bpe", "--vocab-size", "10000001", "--output", "O", "f"}, "10000000");
  refuses({"train-bpe", "--vocab-size", "300", "--progress", "x", "--output", "O", "f"}, "--progress");
  refuses({"train-bpe", "--vocab-size", "300", "--min-count", "0", "--output", "O", "f"}, "--min-count");
}

BOOST_AUTO_TEST_CASE(help_and_version) {
  BOOST_TEST(parse({"--help"}).text.find("train-bpe") != std::string::npos);
  BOOST_TEST(parse({"encode", "--help"}).text.find("--shard-tokens") != std::string::npos);
  BOOST_TEST(parse({"--version"}).text.find("shardgpt-prep 0.") == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
