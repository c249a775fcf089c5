#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "data_prep/byte_alphabet.hpp"
#include "small_tokenizer.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(bpe_model)

namespace {

/// 256 bytes in alphabet order, then `more`.
nlohmann::ordered_json byte_vocab(const std::vector<std::string>& more = {}) {
  nlohmann::ordered_json vocab = nlohmann::ordered_json::object();
  int id = 0;
  for (const char byte : bytes_in_alphabet_order()) {
    vocab[to_byte_alphabet({&byte, 1})] = id++;
  }
  for (const std::string& token : more) {
    vocab[token] = id++;
  }
  return vocab;
}

BpeModel parse(const nlohmann::ordered_json& vocab, const std::string& merges) {
  return BpeModel::parse(vocab.dump(), "V.json", merges, "M.txt");
}

void refuses(const nlohmann::ordered_json& vocab, const std::string& merges,
             const std::vector<std::string>& says) {
  BOOST_CHECK_EXCEPTION(parse(vocab, merges), InputError, Says(says));
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_last_line_needs_no_line_end) {
  const BpeModel model = parse(byte_vocab({"ab", "abc"}), "#version: 0.2\na b\nab c");
  BOOST_TEST(model.merges() == 2U);
  BOOST_TEST(model.merge_of(model.find("ab").value(), model.find("c").value()).id ==
             model.find("abc").value());
}

BOOST_AUTO_TEST_CASE(windows_line_ends_and_a_missing_header_give_the_same_model) {
  const auto vocab = byte_vocab({"ab", "abc"});
  const std::string hash = parse(vocab, "#version: 0.2\na b\nab c\n").hash();
  BOOST_TEST(parse(vocab, "#version: 0.2\r\na b\r\nab c\r\n").hash() == hash);
  BOOST_TEST(parse(vocab, "a b\nab c").hash() == hash);
  BOOST_TEST(parse(vocab, "a b\n").hash() != hash);
  BOOST_TEST(parse(byte_vocab({"abc", "ab"}), "a b\nab c\n").hash() != hash);
  BOOST_TEST(hash.size() == 32U);
}

BOOST_AUTO_TEST_CASE(a_merge_of_the_number_sign_is_no_header) {
  BOOST_TEST(parse(byte_vocab({"##"}), "# #\n").merges() == 1U);
}

BOOST_AUTO_TEST_CASE(malformed_merges_are_refused_with_their_line) {
  const auto vocab = byte_vocab({"ab", "abc"});
  refuses(vocab, "#version: 0.2\na b\na b c\n", {"M.txt:3", "'a b c'"});
  refuses(vocab, "a b\nab\n", {"M.txt:2", "'ab'"});
  refuses(vocab, "a b\n\nab c\n", {"M.txt:2"});
  refuses(vocab, "a b \n", {"M.txt:1", "'a b '"});
  refuses(vocab, " a b\n", {"M.txt:1"});
  refuses(vocab, "a b\na b\n", {"M.txt:2", "second time"});
  refuses(vocab, "a x\n", {"M.txt:1", "'ax'", "not in the vocabulary"});
  refuses(vocab,
          "a b\xc2\x85"
          "ab c\n",
          {"M.txt:1"});  // U+0085 ends no line
  refuses(vocab,
          "a b\xe2\x80\xa8"
          "ab c\n",
          {"M.txt:1"});  // nor does U+2028
}

BOOST_AUTO_TEST_CASE(malformed_vocabularies_are_refused) {
  BOOST_CHECK_EXCEPTION((void)BpeModel::parse("{", "V.json", "", "M.txt"), InputError, Says({"V.json"}));
  BOOST_CHECK_EXCEPTION((void)BpeModel::parse("[1]", "V.json", "", "M.txt"), InputError,
                        Says({"V.json", "object"}));
  BOOST_CHECK_EXCEPTION((void)BpeModel::parse("{}", "V.json", "", "M.txt"), InputError, Says({"V.json"}));
  auto vocab = byte_vocab({"ab"});
  vocab["ab"] = 3;
  refuses(vocab, "", {"V.json", "id 3 is used twice"});
  vocab["ab"] = 300;
  refuses(vocab, "", {"V.json", "'ab'", "300", "0 to 256"});
  vocab["ab"] = "x";
  refuses(vocab, "", {"V.json", "'ab'", "integer"});
  vocab["ab"] = -1;
  refuses(vocab, "", {"V.json", "-1"});
  vocab["ab"] = 18446744073709551615U;
  refuses(vocab, "", {"V.json", "18446744073709551615"});
  auto lacking = byte_vocab();
  lacking.erase("!");
  lacking["new"] = 0;
  refuses(lacking, "", {"V.json", "0x21", "256 bytes"});
}

BOOST_AUTO_TEST_CASE(added_tokens_decode_to_their_text) {
  const BpeModel model = parse(byte_vocab({"<|end of text|>"}), "");
  std::string text;
  model.decode(std::vector<std::int32_t>{model.id_of_byte('a'), 256}, text);
  BOOST_TEST(text == "a<|end of text|>");
  BOOST_CHECK_EXCEPTION(model.decode(std::vector<std::int32_t>{257}, text), InputError,
                        Says({"257", "257 entries"}));
  BOOST_CHECK_EXCEPTION(model.decode(std::vector<std::int32_t>{-1}, text), InputError, Says({"-1"}));
}

BOOST_AUTO_TEST_SUITE_END()
