#include <boost/test/unit_test.hpp>

#include "checkpoints/tokenizer_files.hpp"
#include "core/atomic_file.hpp"
#include "hf_folder.hpp"

using namespace shardgpt;

namespace {

struct TokenizerFolders {
  TestFolder from;
  TestFolder to;
  ModelConfig config = HfFolder().table.config();

  TokenizerFolders() {
    write_file_atomically(from.path / "vocab.json", R"({"a":0,"end":9,"begin":10})");
    write_file_atomically(from.path / "merges.txt", "#version: 0.2\n");
  }
  [[nodiscard]] std::string error() const {
    return error_of([&] { copy_tokenizer(from.path, to.path, config); });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(tokenizer_files, TokenizerFolders)

BOOST_AUTO_TEST_CASE(copies_and_describes) {
  BOOST_TEST(error().empty());
  BOOST_TEST(read_text_file(to.path / "merges.txt") == "#version: 0.2\n");
  const auto made = nlohmann::json::parse(read_text_file(to.path / "tokenizer_config.json"));
  BOOST_TEST(made["eos_token"] == "end");
  BOOST_TEST(made["bos_token"] == "begin");
  BOOST_TEST(made["model_max_length"] == 6);
}

BOOST_AUTO_TEST_CASE(keeps_what_is_there) {
  write_file_atomically(from.path / "tokenizer_config.json", R"({"mine":1})");
  write_file_atomically(from.path / "special_tokens_map.json", "{}");
  BOOST_TEST(error().empty());
  BOOST_TEST(read_text_file(to.path / "tokenizer_config.json") == R"({"mine":1})");
  BOOST_TEST(std::filesystem::exists(to.path / "special_tokens_map.json"));
}

BOOST_AUTO_TEST_CASE(a_tokenizer_of_another_model_is_refused) {
  config.vocab = 10;
  BOOST_TEST(has(error(), "the id of \"begin\" is 10, the model's vocabulary size is 10"));
  config.vocab = 11;
  config.eos_token = 5;
  BOOST_TEST(has(error(), "no token has the model's end-of-text id 5"));
  std::filesystem::remove(from.path / "merges.txt");
  config.eos_token = 9;
  BOOST_TEST(has(error(), "merges.txt"));
}

BOOST_AUTO_TEST_SUITE_END()
