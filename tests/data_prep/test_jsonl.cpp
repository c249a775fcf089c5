#include <boost/test/unit_test.hpp>

#include "data_prep/jsonl.hpp"
#include "tests/tokens/token_files.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(jsonl)

namespace {

void refuses(std::string_view line, const std::string& says) {
  BOOST_CHECK_EXCEPTION(static_cast<void>(text_of_json_line(line, "text")), InputError, Says({says}));
}

}  // namespace

BOOST_AUTO_TEST_CASE(takes_the_string_under_the_key) {
  BOOST_TEST(text_of_json_line(R"({"id": 1, "text": "a\nb\u00e9\ud83d\ude80"})", "text") ==
             "a\nb\xc3\xa9\xf0\x9f\x9a\x80");
  BOOST_TEST(text_of_json_line("{\"body\": \"x\"}\r", "body") == "x");
  BOOST_TEST(text_of_json_line(R"({"text": ""})", "text").empty());
  BOOST_TEST(text_of_json_line(R"({"meta": {"text": "x"}, "text": "a", "tail": [{"text": "y"}]})", "text") ==
             "a");
  BOOST_TEST(text_of_json_line(R"({"text": "a\u0000b"})", "text") == std::string("a\0b", 3));
}

BOOST_AUTO_TEST_CASE(every_oddity_is_named) {
  refuses("[1]", "array");
  refuses("3", "number");
  refuses("{\"text\": \"a\"} {\"text\": \"b\"}", "not one JSON object");
  refuses("{\"text\": \"a\"", "not one JSON object");
  refuses("{\"body\": \"a\"}", "no key 'text'");
  refuses(R"({"text": "a", "id": 1, "text": "b"})", "key 'text' twice");
  refuses("{\"text\": null}", "is a null");
  refuses("{\"text\": 7}", "is a number");
  refuses("{\"text\": \"\\ud800\"}", "not one JSON object");
}

BOOST_AUTO_TEST_CASE(broken_bytes_come_through) {
  BOOST_TEST(text_of_json_line("{\"text\": \"a\xff\\n\xc3(\xe4\xbd\xa0\xe2\x80\"}", "text") ==
             "a\xff\n\xc3(\xe4\xbd\xa0\xe2\x80");
  refuses("{\"text\": \"\xff\xf4\x8f\xbc\x80\"}", "U+10FF00");
  BOOST_TEST(text_of_json_line("{\"text\": \"\xf4\x8f\xbc\x80\"}", "text") == "\xf4\x8f\xbc\x80");
}

BOOST_AUTO_TEST_CASE(blank_lines) {
  BOOST_TEST(is_blank_json_line(""));
  BOOST_TEST(is_blank_json_line(" \t\r"));
  BOOST_TEST(!is_blank_json_line(" x"));
}

BOOST_AUTO_TEST_SUITE_END()
