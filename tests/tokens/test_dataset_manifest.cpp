#include <boost/test/unit_test.hpp>

#include "token_files.hpp"
#include "tokens/dataset_manifest.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(dataset_manifest)

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  BOOST_TEST_REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

BOOST_AUTO_TEST_CASE(everything_comes_back) {
  const TemporaryFolder folder;
  DatasetManifest manifest = small_manifest();
  manifest.name = "x";
  manifest.tokenizer.end_of_text_id = 50256;
  manifest.tokenizer.vocab_file = "vocab.json";
  manifest.document_policy = "line";
  manifest.end_of_text_appended = true;
  manifest.documents = 3;
  manifest.special_in_text = 4;
  manifest.invalid_utf8_bytes = 5;
  manifest.sources = {{"a \xff b", "text", 17}};
  manifest.shards = {{"x_000000.bin", 2, 1028, 7, "0123456789abcdef"},
                     {"x_000001.bin", 1, 1026, 9, "0123456789abcdef"}};

  write_manifest(folder.path(), manifest);
  const DatasetManifest read = read_manifest(folder.path());

  BOOST_TEST(read.tokens() == 3);
  BOOST_TEST(read.largest_id() == 9);
  BOOST_TEST(read.tokenizer.end_of_text_id.value() == 50256);
  BOOST_TEST(read.tokenizer.vocab_file == "vocab.json");
  BOOST_TEST(read.document_policy == "line");
  BOOST_TEST(read.end_of_text_appended);
  BOOST_TEST(!read.special_parsed);
  BOOST_TEST(read.documents == 3);
  BOOST_TEST(read.special_in_text == 4);
  BOOST_TEST(read.invalid_utf8_bytes == 5);
  BOOST_TEST(read.sources.at(0).bytes == 17);
  BOOST_TEST(read.shards.at(1).file == "x_000001.bin");
}

BOOST_AUTO_TEST_CASE(contradictions_are_refused) {
  const TemporaryFolder folder;
  write_set(folder.path(), counting(0, 30), 10);
  const std::string path = folder / "dataset.json";
  const std::string good = read_text_file(path);
  const auto refuses = [&](const std::string& from, const std::string& to, const std::string& says) {
    write_bytes(path, replaced(good, from, to));
    BOOST_CHECK_EXCEPTION(static_cast<void>(read_manifest(folder.path())), InputError, Says({path, says}));
  };
  refuses("\"tokens\": 30", "\"tokens\": 31", "add up to 30");
  refuses("shardgpt-dataset", "another", "format");
  refuses("\"version\": 1", "\"version\": 2", "version is 2");
  refuses("\"bytes\": 1044", "\"bytes\": 1045", "do not belong together");
  refuses("\"largest_id\": 9,", "\"largest_id\": 50257,", "vocab_size");
  refuses("tokens_000001.bin", "../x.bin", "plain file name");
  refuses("tokens_000001.bin", "tokens_000000.bin", "listed twice");
  refuses("\"uint16\"", "\"int8\"", "token_type");
  refuses("\"documents\"", "\"ducuments\"", "documents");
  refuses("\"tokens\": 30", "\"tokens\": \"many\"", "damaged");
  write_bytes(path, good.substr(0, good.size() / 2));
  BOOST_CHECK_EXCEPTION(static_cast<void>(read_manifest(folder.path())), InputError, Says({path, "damaged"}));
  write_bytes(path, "[1]");
  BOOST_CHECK_EXCEPTION(static_cast<void>(read_manifest(folder.path())), InputError, Says({path, "format"}));
}

BOOST_AUTO_TEST_SUITE_END()
