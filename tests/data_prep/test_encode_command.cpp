#include <sstream>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "core/atomic_file.hpp"
#include "data_prep/bpe_encoder.hpp"
#include "data_prep/commands.hpp"
#include "small_tokenizer.hpp"
#include "tokens/token_dataset.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(encode_command)

namespace {

using Ids = std::vector<std::int32_t>;

struct Fixture {
  TemporaryFolder folder;
  EncodeOptions options;
  std::ostringstream out;

  Fixture() {
    write_small_tokenizer(folder);
    options.vocab = folder / "vocab.json";
    options.merges = folder / "merges.txt";
    options.output = folder / "set";
  }
  std::string add(const std::string& name, const std::string& content) {
    write_bytes(folder / name, content);
    options.files.push_back(folder / name);
    return options.files.back();
  }
  void encode() { run_encode(options, out); }
  [[nodiscard]] Ids ids(const std::string& set = "set") const {
    const TokenDataset dataset = TokenDataset::open(folder / set, 600);
    Ids result(static_cast<std::size_t>(dataset.tokens()));
    dataset.read_tokens(0, result);
    return result;
  }
  [[nodiscard]] std::string set_bytes() const {
    std::string all;
    const DatasetManifest manifest = read_manifest(folder / "set");
    for (const ShardRecord& shard : manifest.shards) {
      all += read_text_file(std::filesystem::path(folder / "set") / shard.file);
    }
    return all;
  }
  [[nodiscard]] DatasetManifest manifest(const std::string& set = "set") const {
    return read_manifest(folder / set);
  }
  static Ids encoded(std::string_view text) {
    BpeEncoder encoder(small_model());
    Ids result;
    encoder.encode(text, result);
    return result;
  }
  static Ids joined(Ids left, const Ids& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
  }
};

constexpr std::int32_t end_id = 599;

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_file_is_a_document_with_an_end, Fixture) {
  add("b.txt", "the end\r\n");
  add("a.txt", "an other");
  encode();
  Ids wanted = encoded("the end\r\n");
  wanted.push_back(end_id);
  wanted = joined(wanted, encoded("an other"));
  wanted.push_back(end_id);
  BOOST_TEST(ids() == wanted, boost::test_tools::per_element());
  const DatasetManifest m = manifest();
  BOOST_TEST(m.documents == 2);
  BOOST_TEST(m.document_policy == "file");
  BOOST_TEST(m.end_of_text_appended);
  BOOST_TEST(m.tokenizer.vocab_size == 600);
  BOOST_TEST(m.tokenizer.end_of_text_id.value() == end_id);
  BOOST_TEST(m.tokenizer.hash == small_model().hash());
  BOOST_TEST(m.sources.at(0).bytes == 9);
  BOOST_TEST(read_text_file(folder / "set/vocab.json") == read_text_file(folder / "vocab.json"));
  BOOST_TEST(read_text_file(folder / "set/merges.txt") == read_text_file(folder / "merges.txt"));
}

BOOST_FIXTURE_TEST_CASE(without_ends_the_stream_is_the_text, Fixture) {
  const std::string text = english_like(10'000);
  add("a.txt", text);
  options.document = "none";
  encode();
  BOOST_TEST(ids() == encoded(text), boost::test_tools::per_element());
  options.output = folder / "again";
  options.document = "file";
  options.no_eot = true;
  encode();
  BOOST_TEST(ids("again") == encoded(text), boost::test_tools::per_element());
  BOOST_TEST(!manifest("again").end_of_text_appended);
}

BOOST_FIXTURE_TEST_CASE(threads_and_runs_give_the_same_bytes, Fixture) {
  add("a.txt", english_like(4'000'000, 1));
  add("b.txt", english_like(1'000'000, 2) + "\xff\xfe <|endoftext|>");
  std::string lines;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    lines += nlohmann::json{{"text", english_like(30, i)}}.dump() + "\n";
  }
  add("c.jsonl", lines);
  options.shard_tokens = 300'000;
  options.overwrite = true;
  std::string first;
  std::string first_manifest;
  for (const std::int64_t threads : {1, 2, 7, 1}) {
    options.threads = threads;
    encode();
    if (first.empty()) {
      first = set_bytes();
      first_manifest = read_text_file(folder / "set/dataset.json");
      BOOST_TEST(manifest().shards.size() > 3U);
      BOOST_TEST(manifest().invalid_utf8_bytes == 2);
      BOOST_TEST(manifest().special_in_text == 1);
    }
    BOOST_TEST((set_bytes() == first));
    BOOST_TEST(read_text_file(folder / "set/dataset.json") == first_manifest);
  }
}

BOOST_FIXTURE_TEST_CASE(odd_texts_come_back_exactly, Fixture) {
  const std::vector<std::string> texts{"",
                                       " ",
                                       "\n",
                                       "\n\n\n",
                                       "     ",
                                       std::string("a\0b", 3),
                                       "a\377b",
                                       "\xc3(",
                                       "a\xe2\x80",
                                       "\xc0\x80",
                                       " = Valkyria Chronicles III = \n",
                                       "a\r\nb"};
  options.document = "none";
  options.overwrite = true;
  for (const std::string& text : texts) {
    options.files.clear();
    add("x.txt", text);
    encode();
    DecodeOptions decode;
    decode.files = {options.output};
    std::ostringstream bytes;
    run_decode(decode, bytes);
    BOOST_TEST((bytes.str() == text), "round trip of '" << text << "'");
    BOOST_TEST(manifest().tokens() == static_cast<std::int64_t>(encoded(text).size()));
  }
}

BOOST_FIXTURE_TEST_CASE(empty_documents_give_nothing_but_do_no_harm, Fixture) {
  add("a.txt", "the");
  add("empty.txt", "");
  add("c.jsonl", "{\"text\": \"\"}\n{\"text\": \"an\"}\n");
  encode();
  Ids wanted = encoded("the");
  wanted.push_back(end_id);
  wanted = joined(wanted, encoded("an"));
  wanted.push_back(end_id);
  BOOST_TEST(ids() == wanted, boost::test_tools::per_element());
  BOOST_TEST(manifest().documents == 2);
  BOOST_TEST(out.str().find("1 empty document(s)") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(jsonl_oddities_are_refused_with_file_and_line, Fixture) {
  const std::string good = "{\"text\": \"a\"}\n\n";
  for (const std::string odd : {"[1]", "{\"text\": \"a\"} {\"text\": \"b\"}", "{\"body\": 1}",
                                "{\"text\": null}", "{\"text\": 3}", "nonsense"}) {
    options.files.clear();
    const std::string path = add("x.jsonl", good + odd + "\n{\"text\": \"b\"}");
    BOOST_CHECK_EXCEPTION(encode(), InputError, Says({path + ":3"}));
    BOOST_TEST(!std::filesystem::exists(folder / "set/dataset.json"));
    BOOST_TEST(shard_files_in(folder / "set").empty());
  }
  options.skip_bad_lines = true;
  encode();
  BOOST_TEST(manifest().documents == 2);
}

BOOST_FIXTURE_TEST_CASE(jsonl_text_is_as_raw_text, Fixture) {
  options.no_eot = true;
  add("x.jsonl", "{\"body\": \"a\\u0000b\xff\"}\r\n");
  options.jsonl_key = "body";
  encode();
  BOOST_TEST(ids() == encoded(std::string_view("a\0b\xff", 4)), boost::test_tools::per_element());
  BOOST_TEST(manifest().invalid_utf8_bytes == 1);
}

BOOST_FIXTURE_TEST_CASE(the_marker_in_the_text_is_counted_and_parsed_on_demand, Fixture) {
  add("x.txt", "a<|endoftext|>b");
  encode();
  const Ids ordinary = ids();
  BOOST_TEST(ordinary.size() > 4U);
  BOOST_TEST(std::count(ordinary.begin(), ordinary.end(), end_id) == 1);  // the document's own
  BOOST_TEST(manifest().special_in_text == 1);
  BOOST_TEST(out.str().find("1 '<|endoftext|>' marker") != std::string::npos);
  options.parse_special = true;
  options.overwrite = true;
  encode();
  BOOST_TEST(ids().size() == 4U);
  BOOST_TEST(manifest().special_parsed);
}

BOOST_FIXTURE_TEST_CASE(validation_documents_are_spread_evenly, Fixture) {
  std::string lines;
  for (int i = 0; i < 100; ++i) {
    lines += std::to_string(1000 + i) + "\n";
  }
  add("x.txt", lines);
  options.document = "line";
  options.val_fraction = 0.1;
  encode();
  BOOST_TEST(manifest("set/train").documents == 90);
  BOOST_TEST(manifest("set/val").documents == 10);
  Ids first = encoded("1009");
  first.push_back(end_id);
  const Ids val = ids("set/val");
  BOOST_TEST(Ids(val.begin(), val.begin() + static_cast<std::ptrdiff_t>(first.size())) == first,
             boost::test_tools::per_element());
  BOOST_TEST(ids("set/train").size() + val.size() > 300U);
}

BOOST_FIXTURE_TEST_CASE(a_split_that_leaves_one_side_empty_is_refused, Fixture) {
  add("x.txt", "one document");
  options.val_fraction = 0.1;
  BOOST_CHECK_EXCEPTION(encode(), InputError, Says({"--val-fraction", "1 document"}));
  BOOST_TEST(!std::filesystem::exists(folder / "set/train/dataset.json"));
}

BOOST_FIXTURE_TEST_CASE(wrong_inputs_are_refused_before_work, Fixture) {
  add("x.txt", "text");
  encode();
  BOOST_CHECK_EXCEPTION(encode(), InputError, Says({"--overwrite"}));
  options.output = folder / "other";
  options.files.push_back(folder / "absent.txt");
  BOOST_CHECK_EXCEPTION(encode(), InputError, Says({"absent.txt"}));
  BOOST_TEST(!std::filesystem::exists(folder / "other"));
  options.files.pop_back();
  options.vocab = folder / "absent.json";
  BOOST_CHECK_EXCEPTION(encode(), InputError, Says({"absent.json"}));
  options.vocab = folder / "vocab.json";
  options.end_of_text = "<eos>";
  BOOST_CHECK_EXCEPTION(encode(), InputError, Says({"<eos>", "--no-eot"}));
}

// 65536 entries fit 16 bits exactly; one more and the ids are written with 32.
BOOST_FIXTURE_TEST_CASE(vocabularies_above_65536_use_wide_ids, Fixture) {
  for (const std::size_t size : {std::size_t{65536}, std::size_t{65537}, std::size_t{70000}}) {
    TrainedBpe big = small_bpe();
    big.tokens.pop_back();
    while (big.tokens.size() + 1 < size) {
      big.tokens.push_back("filler-" + std::to_string(big.tokens.size()));
    }
    big.tokens.emplace_back("<|endoftext|>");
    write_bytes(folder / "vocab.json", big.vocab_json());
    options.files.clear();
    add("x.txt", "the end");
    options.overwrite = true;
    encode();
    const TokenDataset dataset = TokenDataset::open(folder / "set", static_cast<std::int64_t>(size));
    Ids read(static_cast<std::size_t>(dataset.tokens()));
    dataset.read_tokens(0, read);
    BOOST_TEST(read.back() == static_cast<std::int32_t>(size) - 1);
    BOOST_TEST((dataset.shards()[0].file.type() == (size <= 65536 ? TokenType::u16 : TokenType::u32)));
  }
}

BOOST_FIXTURE_TEST_CASE(block_size_and_threads_change_no_byte, Fixture) {
  options.document = "heading";
  options.parse_special = true;
  options.shard_tokens = 5000;
  options.overwrite = true;
  std::string text;
  for (int article = 0; article < 9; ++article) {
    text +=
        " = Article = \n \n" + english_like(4000, static_cast<std::uint64_t>(article)) + "<|endoftext|>\n \n";
  }
  add("wiki.train.raw", text);
  add("x.jsonl", "{\"text\": \"" + std::string(3000, 'x') + "\"}\n{\"text\": \"last\"}");
  encode();
  const std::string whole = set_bytes();
  BOOST_TEST(manifest().documents == 11);
  BOOST_TEST(manifest().document_policy == "heading");
  for (const std::int64_t block : {1, 13, 1000, 4096, 1'000'000}) {
    for (const std::int64_t threads : {1, 3}) {
      options.block_bytes = block;
      options.threads = threads;
      encode();
      BOOST_TEST((set_bytes() == whole), "blocks of " << block << ", threads " << threads);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(separator_and_detokenizing_are_recorded, Fixture) {
  options.document = "separator";
  options.separator = "\\n--\\n";
  options.detokenize = "wikitext";
  options.no_eot = true;
  add("x.txt", "the @-@ end\n--\nan , other");
  add("y.jsonl", "{\"text\": \"the @,@ end\"}");
  encode();
  BOOST_TEST(ids() == joined(joined(encoded("the-end"), encoded("an, other")), encoded("the,end")),
             boost::test_tools::per_element());
  BOOST_TEST(manifest().separator == "\n--\n");
  BOOST_TEST(manifest().detokenize == "wikitext");
  BOOST_TEST(manifest().documents == 3);
}

BOOST_FIXTURE_TEST_CASE(a_jsonl_line_may_be_huge, Fixture) {
  add("x.jsonl", "{\"text\": \"a\"}\nnonsense\n{\"text\": \"" + std::string(std::size_t{64} << 20U, ' ') +
                     "\"}\n{\"text\": \"last\"}");
  BOOST_CHECK_EXCEPTION(encode(), InputError, Says({"x.jsonl:2"}));
  options.skip_bad_lines = true;
  encode();
  BOOST_TEST(manifest().documents == 3);
}

BOOST_AUTO_TEST_SUITE_END()
