#include <boost/test/unit_test.hpp>
#include <zlib.h>
#include <zstd.h>

#include "data_prep/input_file.hpp"
#include "small_tokenizer.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(compressed_input)

namespace {

std::string gzip(const std::string& text) {
  z_stream stream{};
  BOOST_TEST_REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  BOOST_TEST_REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

struct Fixture {
  TemporaryFolder folder;

  [[nodiscard]] std::string unpacked(const std::string& bytes, std::size_t at_once = 1U << 20U) const {
    write_bytes(folder / "x.txt.packed", bytes);
    InputFile file(folder / "x.txt.packed", InputFormat::automatic);
    std::string text;
    while (file.read(text, at_once)) {
    }
    BOOST_TEST(file.bytes_read() == static_cast<std::int64_t>(text.size()));
    BOOST_TEST(file.file_bytes_read() == static_cast<std::int64_t>(bytes.size()));
    return text;
  }
  void refuses(const std::string& bytes, const std::string& says) const {
    BOOST_CHECK_EXCEPTION(static_cast<void>(unpacked(bytes)), InputError,
                          Says({folder / "x.txt.packed", says}));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(gives_the_text_whatever_the_blocks, Fixture) {
  const std::string text = english_like(400'000) + std::string("a\0\xff", 3);
  for (const auto& pack : {gzip, zstd}) {
    for (const std::size_t at_once : {std::size_t{1000}, std::size_t{65536}, std::size_t{1} << 20U}) {
      BOOST_TEST((unpacked(pack(text), at_once) == text));
    }
    BOOST_TEST((unpacked(pack("")).empty()));
    // Several members or frames, an empty one among them, are one text.
    BOOST_TEST((unpacked(pack(text) + pack("") + pack("more"), 777) == text + "more"));
  }
  BOOST_TEST((unpacked(gzip("a") + std::string(3, '\0')) == "a"));  // padded
  BOOST_TEST(
      (unpacked(std::string("\x50\x2a\x4d\x18\x02\0\0\0xx", 10) + zstd("b")) == "b"));  // a skippable frame
}

BOOST_FIXTURE_TEST_CASE(cut_or_damaged_files_are_refused_by_name, Fixture) {
  const std::string text = english_like(100'000);
  for (const auto& pack : {gzip, zstd}) {
    const std::string packed = pack(text);
    for (const std::size_t size : {packed.size() - 1, packed.size() / 2, std::size_t{6}}) {
      refuses(packed.substr(0, size), "cut short");
    }
    refuses(packed + packed.substr(0, packed.size() - 3), "cut short");
    refuses(packed + "trailing rubbish", "damaged");
    std::string flipped = packed;
    flipped[packed.size() / 2] = static_cast<char>(flipped[packed.size() / 2] ^ 0x55);
    BOOST_CHECK_THROW(static_cast<void>(unpacked(flipped)), InputError);
  }
  std::string wrong_sum = gzip(text);
  wrong_sum[wrong_sum.size() - 6] = static_cast<char>(wrong_sum[wrong_sum.size() - 6] ^ 1);
  refuses(wrong_sum, "damaged");
}

BOOST_AUTO_TEST_CASE(the_name_without_the_packing_tells_the_format) {
  BOOST_TEST((InputFile::format_for("a.jsonl.gz", InputFormat::automatic) == InputFormat::jsonl));
  BOOST_TEST((InputFile::format_for("a.ndjson.zst", InputFormat::automatic) == InputFormat::jsonl));
  BOOST_TEST((InputFile::format_for("wiki.train.raw.gz", InputFormat::automatic) == InputFormat::text));
  BOOST_TEST((InputFile::format_for("wiki.test.tokens", InputFormat::automatic) == InputFormat::text));
  BOOST_TEST((InputFile::format_for("a.parquet", InputFormat::automatic) == InputFormat::parquet));
  BOOST_TEST((InputFile::format_for("a.parquet", InputFormat::text) == InputFormat::text));
}

BOOST_AUTO_TEST_SUITE_END()
