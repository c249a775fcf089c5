#include <boost/test/unit_test.hpp>

#include "data_prep/bpe_encoder.hpp"
#include "data_prep/document_reader.hpp"
#include "small_tokenizer.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(document_reader)

namespace {

struct Document {
  std::string text;
  std::vector<std::size_t> part_sizes;
};

std::vector<Document> read(const std::vector<std::string>& files,
                           DocumentPolicy policy = DocumentPolicy::file,
                           InputFormat format = InputFormat::automatic) {
  DocumentReader reader(files, format, policy);
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
  const auto documents = read({folder / "x"}, DocumentPolicy::line);
  BOOST_TEST_REQUIRE(documents.size() == 3U);
  BOOST_TEST(documents[0].text == "one");
  BOOST_TEST(documents[1].text == " two ");
  BOOST_TEST(documents[2].text == "three");
}

BOOST_AUTO_TEST_CASE(jsonl_lines_come_whole_with_their_number) {
  const TemporaryFolder folder;
  const std::string huge = "{\"text\": \"" + std::string(3'000'000, 'x') + "\"}";
  write_bytes(folder / "x.jsonl", "{\"text\": \"a\"}\r\n \n" + huge + "\n{\"text\": \"last\"}");
  DocumentReader reader({folder / "x.jsonl"}, InputFormat::automatic, DocumentPolicy::file);
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
  refuses("a.parquet", "PAR1xxxxxxxxPAR1", "Parquet");
  refuses("a.txt.gz", "\x1f\x8b\x08\x08", "gzip");
  refuses("a.zst", "\x28\xb5\x2f\xfdxxx", "zstd");
  refuses("a.json", "[]", "--format");
  BOOST_CHECK_EXCEPTION(read({folder / "absent"}), InputError, Says({folder / "absent", "No such file"}));
  BOOST_CHECK_EXCEPTION(read({folder.path()}), InputError, Says({folder.path(), "folder"}));
  // Told that it is text, it is taken as it is.
  BOOST_TEST(read({folder / "a.txt.gz"}, DocumentPolicy::file, InputFormat::text).at(0).text ==
             "\x1f\x8b\x08\x08");
}

BOOST_AUTO_TEST_SUITE_END()
