#define BOOST_TEST_MODULE gpt2_tokenizer
#define BOOST_TEST_NO_MAIN
#define BOOST_TEST_ALTERNATIVE_INIT_API
#include <cstdlib>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "data_prep/text_encoder.hpp"

using namespace shardgpt;

namespace {

using Ids = std::vector<std::int32_t>;

const char* tokenizer_folder() {
  return std::getenv("SHARDGPT_GPT2_TOKENIZER");
}

const BpeModel& model() {
  static const std::string folder = tokenizer_folder();
  static const BpeModel instance = BpeModel::load(folder + "/vocab.json", folder + "/merges.txt");
  return instance;
}

Ids encode(std::string_view text, SpecialText special = SpecialText::ordinary) {
  TextEncoder encoder(model(), "<|endoftext|>", special);
  Ids ids;
  TextCounts counts;
  encoder.encode(text, ids, counts);
  std::string back;
  model().decode(ids, back);
  BOOST_TEST(back == text);
  return ids;
}

void gives(std::string_view text, const Ids& ids, SpecialText special = SpecialText::ordinary) {
  BOOST_TEST(encode(text, special) == ids, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_CASE(sizes) {
  BOOST_TEST(model().vocab_size() == 50257);
  BOOST_TEST(model().merges() == 50000U);
  BOOST_TEST(model().find("<|endoftext|>").value() == 50256);
}

BOOST_AUTO_TEST_CASE(white_space) {
  gives("a   b", {64, 220, 220, 275});
  gives("a\t\tb", {64, 197, 197, 65});
  gives("abc  ", {39305, 220, 220});
  gives("a\n\n\nb", {64, 628, 198, 65});
  gives("a\n b", {64, 198, 275});
  gives("\n        x", {198, 220, 220, 220, 220, 220, 220, 220, 2124});
  Ids blanks(15, 220);
  blanks.push_back(2124);
  gives(std::string(16, ' ') + "x", blanks);
  gives("", {});
  gives(" ", {220});
  gives("\n", {198});
  gives("a\r\nb", {64, 201, 198, 65});
}

BOOST_AUTO_TEST_CASE(contractions) {
  gives("I'll we've HE'LL don't DON'T y'all 'twas it\xe2\x80\x99s",
        {40, 1183, 356, 1053, 11179, 6,    3069, 836, 470, 23917, 6,
         51, 331,  6,   439,  705,   4246, 292,  340, 447, 247,   82});
  gives("'s'S a'lL", {338, 6, 50, 257, 6, 75, 43});
}

BOOST_AUTO_TEST_CASE(characters_beyond_ascii) {
  gives("na\xc3\xafve caf\xc3\xa9", {2616, 38776, 40304});
  gives("Senj\xc5\x8d", {10445, 73, 13090});
  gives(
      "groups and\xe2\x80\x94"
      "following",
      {24432, 290, 960, 27780, 278});
  gives("\xe4\xbd\xa0", {19526, 254});
  gives("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe3\x83\x86\xe3\x82\xb9\xe3\x83\x88",
        {33768, 98, 17312, 105, 45739, 252, 24336, 43302});
  gives("\xf0\x9f\x9a\x80", {8582, 248, 222});
  gives("\xf0\xa0\x80\x8b", {172, 254, 222, 233});
}

BOOST_AUTO_TEST_CASE(broken_bytes_and_nul) {
  gives(
      "a\xff"
      "b",
      {64, 187, 65});
  gives("\xc3(", {127, 7});
  gives(std::string_view("a\0b", 3), {64, 188, 65});
}

BOOST_AUTO_TEST_CASE(end_of_text_marker) {
  gives("a<|endoftext|>b", {64, 27, 91, 437, 1659, 5239, 91, 29, 65});
  gives("a<|endoftext|>b", {64, 50256, 65}, SpecialText::parsed);
  gives("<|endoftext", {27, 91, 437, 1659, 5239}, SpecialText::parsed);
}

BOOST_AUTO_TEST_CASE(the_last_merge_counts) {
  gives(" gazed", {50255});
}

BOOST_AUTO_TEST_CASE(wikitext_marks_are_taken_as_they_are) {
  gives(" = Valkyria Chronicles III = \n", {796, 569, 18354, 7496, 17740, 6711, 796, 220, 198});
  gives(" = = Gameplay = = \n", {796, 796, 3776, 1759, 796, 796, 220, 198});
  gives(" = Robert <unk> = \n", {796, 5199, 1279, 2954, 29, 796, 220, 198});
  gives("role @-@ playing 1 @,@ 000 3 @.@ 5",
        {18090, 2488, 12, 31, 2712, 352, 2488, 11, 31, 12877, 513, 2488, 13, 31, 642});
  gives(" \n", {220, 198});
}

BOOST_AUTO_TEST_CASE(a_million_letters) {
  BOOST_TEST((encode(std::string(1'000'000, 'a')) == Ids(250'000, 24794)));
}

int main(int argc, char** argv) {
  if (tokenizer_folder() == nullptr) {
    return 77;  // skipped: SHARDGPT_GPT2_TOKENIZER is not set
  }
  return boost::unit_test::unit_test_main(&init_unit_test, argc, argv);
}
