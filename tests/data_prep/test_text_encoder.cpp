#include <boost/test/unit_test.hpp>

#include "data_prep/text_encoder.hpp"
#include "small_tokenizer.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(text_encoder)

namespace {

struct Result {
  std::vector<std::int32_t> ids;
  TextCounts counts;
};

Result encode(std::string_view text, SpecialText special) {
  TextEncoder encoder(small_model(), "<|endoftext|>", special);
  Result result;
  encoder.encode(text, result.ids, result.counts);
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_marker_is_ordinary_text_unless_told) {
  const std::int32_t end_id = small_model().find("<|endoftext|>").value();
  BOOST_TEST(end_id == small_model().vocab_size() - 1);
  const std::int32_t a = small_model().id_of_byte('a');
  const std::int32_t b = small_model().id_of_byte('b');

  const Result parsed = encode("a<|endoftext|>b", SpecialText::parsed);
  BOOST_TEST(parsed.ids == (std::vector<std::int32_t>{a, end_id, b}), boost::test_tools::per_element());
  BOOST_TEST(parsed.counts.special_in_text == 1);

  const Result ordinary = encode("a<|endoftext|>b", SpecialText::ordinary);
  BOOST_TEST(std::count(ordinary.ids.begin(), ordinary.ids.end(), end_id) == 0);
  BOOST_TEST(ordinary.counts.special_in_text == 1);
  std::string back;
  small_model().decode(ordinary.ids, back);
  BOOST_TEST(back == "a<|endoftext|>b");

  BOOST_TEST(encode("<|endoftext|>", SpecialText::parsed).ids == std::vector<std::int32_t>{end_id},
             boost::test_tools::per_element());
  BOOST_TEST(encode("<|endoftext|><|endoftext|>", SpecialText::parsed).ids.size() == 2U);
  const Result unfinished = encode("<|endoftext", SpecialText::parsed);
  BOOST_TEST(unfinished.ids == encode("<|endoftext", SpecialText::ordinary).ids,
             boost::test_tools::per_element());
  BOOST_TEST(unfinished.counts.special_in_text == 0);
}

BOOST_AUTO_TEST_CASE(broken_bytes_are_kept_and_counted) {
  const Result result = encode(
      "a\xff"
      "b",
      SpecialText::ordinary);
  BOOST_TEST(
      result.ids == (std::vector<std::int32_t>{small_model().id_of_byte('a'), small_model().id_of_byte(0xff),
                                               small_model().id_of_byte('b')}),
      boost::test_tools::per_element());
  BOOST_TEST(result.counts.invalid_utf8_bytes == 1);
}

BOOST_AUTO_TEST_CASE(a_marker_that_the_vocabulary_lacks_cannot_be_parsed) {
  BOOST_CHECK_EXCEPTION(TextEncoder(small_model(), "<eos>", SpecialText::parsed), InputError,
                        Says({"<eos>"}));
}

BOOST_AUTO_TEST_SUITE_END()
