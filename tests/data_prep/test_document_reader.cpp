#include <boost/test/unit_test.hpp>

#include "data_prep/bpe_encoder.hpp"
#include "data_prep/document_reader.hpp"
#include "data_prep/parquet_text.hpp"
#include "small_tokenizer.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(document_reader)

namespace {

struct Document {
  std::string text;
  std::vector<std::size_t> part_sizes;
};

std::vector<Document> read(const std::vector<std::string>& files, const ReaderOptions& options = {}) {
  DocumentReader reader(files, options);
  std::vector<Document> documents;
  bool goes_on = false;
  reader.read([&](const TextBlock& block) {
    for (const TextPart& part : block.parts) {
      if (!goes_on) {
        documents.emplace_back();
      }
      BOOST_TEST_REQUIRE(part.document == static_cast<std::int64_t>(documents.size()) - 1);
      documents.back().text += block.text(part);
      documents.back().part_sizes.push_back(part.size);
      goes_on = !part.ends_document;
    }
  });
  BOOST_TEST(!goes_on);
  return documents;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_long_file_is_cut_where_no_piece_is) {
  const TemporaryFolder folder;
  BpeEncoder encoder(small_model());
  std::string zeros_at_the_edge = english_like(3'000'000);
  zeros_at_the_edge[(1U << 20U) - 1] = '\0';
  zeros_at_the_edge[1U << 20U] = '\0';
  std::string marker_over_the_edge = english_like(2'000'000);
  marker_over_the_edge.replace((1U << 20U) - 6, 13, "<|endoftext|>");
  std::string blanks = english_like(1'000'000) + std::string(1'500'000, ' ') + english_like(1'000'000);
  std::string characters;  // three bytes each, so that a read ends within one
  while (characters.size() < 2'500'000) {
    characters += "\xe4\xbd\xa0\xe3\x80\x80 ";
  }
  for (const std::string& text :
       {zeros_at_the_edge, marker_over_the_edge, blanks, characters, std::string(2'500'000, 'x')}) {
    write_bytes(folder / "x.txt", text);
    const auto documents = read({folder / "x.txt"});
    BOOST_TEST_REQUIRE(documents.size() == 1U);
    BOOST_TEST_REQUIRE((documents[0].text == text));
    std::vector<std::int32_t> whole;
    encoder.encode(text, whole);
    std::vector<std::int32_t> parts;
    std::size_t begin = 0;
    for (const std::size_t size : documents[0].part_sizes) {
      encoder.encode(std::string_view(text).substr(begin, size), parts);
      begin += size;
    }
    BOOST_TEST((parts == whole));
  }
}

BOOST_AUTO_TEST_CASE(long_text_goes_in_many_parts) {
  const TemporaryFolder folder;
  write_bytes(folder / "x.txt", english_like(5'000'000));
  BOOST_TEST(read({folder / "x.txt"}).at(0).part_sizes.size() >= 5U);
}

BOOST_AUTO_TEST_CASE(files_are_documents_in_the_order_given) {
  const TemporaryFolder folder;
  write_bytes(folder / "b", "second\r\n");
  write_bytes(folder / "a", "first");
  write_bytes(folder / "empty", "");
  const auto documents = read({folder / "b", folder / "empty", folder / "a"});
  BOOST_TEST_REQUIRE(documents.size() == 2U);
  BOOST_TEST(documents[0].text == "second\r\n");
  BOOST_TEST(documents[1].text == "first");
}

BOOST_AUTO_TEST_CASE(lines_can_be_documents) {
  const TemporaryFolder folder;
  write_bytes(folder / "x", "one\n\n two \r\nthree");
  const auto documents = read({folder / "x"}, {.document = DocumentPolicy::line});
  BOOST_TEST_REQUIRE(documents.size() == 3U);
  BOOST_TEST(documents[0].text == "one");
  BOOST_TEST(documents[1].text == " two ");
  BOOST_TEST(documents[2].text == "three");
}

BOOST_AUTO_TEST_CASE(jsonl_lines_come_whole_with_their_number) {
  const TemporaryFolder folder;
  const std::string huge = "{\"text\": \"" + std::string(3'000'000, 'x') + "\"}";
  write_bytes(folder / "x.jsonl", "{\"text\": \"a\"}\r\n \n" + huge + "\n{\"text\": \"last\"}");
  DocumentReader reader({folder / "x.jsonl"}, {});
  std::vector<std::int64_t> lines;
  std::vector<std::size_t> sizes;
  reader.read([&](const TextBlock& block) {
    for (const TextPart& part : block.parts) {
      BOOST_TEST((part.format == InputFormat::jsonl && part.ends_document));
      lines.push_back(part.line);
      sizes.push_back(part.size);
    }
  });
  BOOST_TEST(lines == (std::vector<std::int64_t>{1, 3, 4}), boost::test_tools::per_element());
  BOOST_TEST(sizes[1] == huge.size());
  BOOST_TEST(reader.sources().at(0).format == "jsonl");
  BOOST_TEST(reader.sources().at(0).bytes == static_cast<std::int64_t>(huge.size() + 34));
}

BOOST_AUTO_TEST_CASE(what_is_no_text_is_refused_before_any_reading) {
  const TemporaryFolder folder;
  write_bytes(folder / "good.txt", "x");
  const auto refuses = [&](const std::string& name, const std::string& content, const std::string& says) {
    write_bytes(folder / name, content);
    BOOST_CHECK_EXCEPTION(read({folder / "good.txt", folder / name}), InputError,
                          Says({folder / name, says}));
  };
  refuses("a.txt.bz2", "BZh91AY", "bzip2");
  refuses("a.txt.xz", std::string("\xfd\x37zXZ\0xx", 8), "xz");
  refuses("a.zip", "PK\x03\x04xxxx", "zip");
  refuses("a.json", "[]", "--format");
  refuses("b.parquet", "not Parquet", "PAR1");
  BOOST_CHECK_EXCEPTION(read({folder / "absent"}), InputError, Says({folder / "absent", "No such file"}));
  // Told that it is text, it is taken as it is.
  BOOST_TEST(read({folder / "a.txt.bz2"}, {.format = InputFormat::text}).at(0).text == "BZh91AY");
}

BOOST_AUTO_TEST_CASE(without_arrow_parquet_is_refused_with_advice) {
  const TemporaryFolder folder;
  write_bytes(folder / "a.bin", "PAR1xxxxxxxxPAR1");
  const std::string says = parquet_support().built_in ? "Parquet" : "SHARDGPT_ARROW_ROOT";
  BOOST_CHECK_EXCEPTION(read({folder / "a.bin"}), InputError, Says({folder / "a.bin", says}));
}

BOOST_AUTO_TEST_CASE(folders_stand_for_their_files_in_bytewise_order) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "in/b");
  for (const std::string name : {"b/x", "a", "B", "c", ".hidden", "b/.also"}) {
    write_bytes(folder / ("in/" + name), name);
  }
  std::vector<std::string> texts;
  for (const Document& document : read({folder / "in", folder / "in/a"})) {
    texts.push_back(document.text);
  }
  BOOST_TEST(texts == (std::vector<std::string>{"B", "a", "b/x", "c", "a"}),
             boost::test_tools::per_element());
  std::filesystem::create_directories(folder.path() / "empty");
  BOOST_CHECK_EXCEPTION(read({folder / "empty"}), InputError, Says({folder / "empty", "no files"}));
}

BOOST_AUTO_TEST_CASE(block_size_changes_no_document) {
  const TemporaryFolder folder;
  const std::string text =
      " \n = First = \n \n text , one \n = = Sec = = \n\n = Not a heading = \nmore\n \n"
      " = Second = \n \n x\r\n--\n\n= tight =\n\n \n = Third = ";
  write_bytes(folder / "x", text);
  const std::vector<ReaderOptions> ways = {
      {.document = DocumentPolicy::file},
      {.document = DocumentPolicy::line},
      {.document = DocumentPolicy::heading},
      {.document = DocumentPolicy::separator, .separator = "\n\n"},
      {.document = DocumentPolicy::heading, .detokenize = Detokenize::wikitext}};
  for (ReaderOptions way : ways) {
    const std::vector<Document> whole = read({folder / "x"}, way);
    for (way.block_bytes = 1; way.block_bytes < 40; ++way.block_bytes) {
      const std::vector<Document> parts = read({folder / "x"}, way);
      BOOST_TEST_REQUIRE(parts.size() == whole.size());
      for (std::size_t i = 0; i < whole.size(); ++i) {
        BOOST_TEST(parts[i].text == whole[i].text);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(headings_of_level_one_begin_documents) {
  const TemporaryFolder folder;
  const std::string first = " \n = First = \n \n text \n = = Section = = \n \n more \n \n";
  const std::string second =
      " = The = sign = \n \n x \n = no blank line before = \n \n y \n \n = none after = \nz\n \n";
  const std::string third = " = Third = ";
  write_bytes(folder / "x", first + second + third);
  const auto documents = read({folder / "x"}, {.document = DocumentPolicy::heading});
  BOOST_TEST_REQUIRE(documents.size() == 3U);
  BOOST_TEST(documents[0].text == first);
  BOOST_TEST(documents[1].text == second);
  BOOST_TEST(documents[2].text == third);
  // Text before the first heading is a document of its own, unless it is blank.
  write_bytes(folder / "y", "lead\n\n" + third + "\n");
  BOOST_TEST(read({folder / "y"}, {.document = DocumentPolicy::heading}).size() == 2U);
  // Text without headings and line ends is not held.
  write_bytes(folder / "long", english_like(3'000'000));
  BOOST_TEST(read({folder / "long"}, {.document = DocumentPolicy::heading}).at(0).part_sizes.size() >= 3U);
}

BOOST_AUTO_TEST_CASE(separators_stand_between_documents) {
  const TemporaryFolder folder;
  write_bytes(folder / "x", "one<|endoftext|><|endoftext|>two<|endof<|endoftext|>");
  write_bytes(folder / "y", "three");
  const auto documents =
      read({folder / "x", folder / "y"},
           {.document = DocumentPolicy::separator, .separator = "<|endoftext|>", .block_bytes = 3});
  BOOST_TEST_REQUIRE(documents.size() == 3U);
  BOOST_TEST(documents[0].text == "one");
  BOOST_TEST(documents[1].text == "two<|endof");
  BOOST_TEST(documents[2].text == "three");
}

BOOST_AUTO_TEST_SUITE_END()
