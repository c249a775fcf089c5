#include <boost/test/unit_test.hpp>

#include "data_prep/wikitext_detokenizer.hpp"

using namespace shardgpt;

BOOST_AUTO_TEST_SUITE(wikitext_detokenizer)

// Expected values: wikitext_detokenizer() of Megatron-LM, applied to the same text.
BOOST_AUTO_TEST_CASE(undoes_the_spacing) {
  const auto is = [](std::string_view text, std::string_view wanted) {
    BOOST_TEST(detokenized(text, Detokenize::wikitext) == wanted);
    BOOST_TEST(detokenized(text, Detokenize::none) == text);
  };
  is("role @-@ playing 1 @,@ 000 3 @.@ 5", "role-playing 1,000 3.5");
  is(" \n = Valkyria = \n \n = = Gameplay = = \n \n The \" x \" ( y ) [ z ] { w } 's , a ; b : c ! d ? e . "
     "\n",
     "\n= Valkyria =\n\n== Gameplay ==\n\nThe \"x\" (y) [z] {w}'s, a; b: c! d? e.\n");
  is("the players ' choice , 35 \xc2\xb0 N of it 's own", "the players'choice, 35\xc2\xb0N of it's own");
  is("a ( b", "a ( b");
  is("= = = = Deep = = = =", "==== Deep ====");
  is("", "");
}

BOOST_AUTO_TEST_CASE(pieces_make_no_difference) {
  const std::string text = " = A = \n \n it 's a @-@ b , ( c ) \n d 's \n\n \" e \" f";
  const std::string whole = detokenized(text, Detokenize::wikitext);
  for (std::size_t size = 1; size < text.size(); ++size) {
    WikitextDetokenizer detokenizer;
    for (int document = 0; document < 2; ++document) {
      std::string result;
      for (std::size_t begin = 0; begin < text.size(); begin += size) {
        detokenizer.add(std::string_view(text).substr(begin, size), result);
      }
      detokenizer.finish(result);
      BOOST_TEST(result == whole);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
