#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "token_files.hpp"
#include "tokens/shard_format.hpp"
#include "tokens/token_dataset.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(shard_format)

namespace {

void refuses(const std::string& bytes, const std::vector<std::string>& says,
             std::int64_t vocab_size = 50257) {
  const TemporaryFolder folder;
  write_bytes(folder / "x.bin", bytes);
  std::vector<std::string> parts = says;
  parts.push_back(folder / "x.bin");
  BOOST_CHECK_EXCEPTION(static_cast<void>(TokenDataset::open(folder / "x.bin", vocab_size)), InputError,
                        Says(parts));
}

std::string with_word(std::string bytes, std::size_t index, std::int32_t value) {
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[index * 4 + i] = static_cast<char>((value >> (8 * i)) & 0xff);
  }
  return bytes;
}

std::string u32_shard() {
  return make_shard_header({TokenType::u32, 3}) + std::string("\x01\0\0\0\x02\0\0\0\x03\x00\x01\x00", 12);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_header_is_that_of_llm_c) {
  const std::string header = make_shard_header({TokenType::u16, 258});
  BOOST_TEST(header.size() == 1024U);
  BOOST_TEST(header.substr(0, 12) == std::string("\x88\xd8\x34\x01\x01\0\0\0\x02\x01\0\0", 12));
  BOOST_TEST(std::count(header.begin() + 12, header.end(), '\0') == 1012);
}

BOOST_AUTO_TEST_CASE(names_what_is_no_shard) {
  const std::string good = shard_bytes(counting(0, 100));
  refuses(std::string("\x93NUMPY\x01\x00", 8) + std::string(2000, ' '),
          {"93 4e 55 4d 50 59 01 00", "NumPy", "encode"});
  refuses("\x1f\x8b\x08\x08" + std::string(2000, 'x'), {"1f 8b 08 08", "gzip"});
  refuses(with_word(good, 1, 2), {"88 d8 34 01 02 00 00 00", "version 2", "version 1"});
  std::string swapped = good;
  std::reverse(swapped.begin(), swapped.begin() + 4);
  refuses(swapped, {"01 34 d8 88", "byte-swapped"});
  refuses(with_word(good, 0, 20240522), {"evaluation"});
  refuses(std::string(3000, '\0'), {"00 00 00 00 00 00 00 00", "nanoGPT"});
  refuses("It was a dark night.", {"49 74 20 77 61 73 20 61", "text"});
}

BOOST_AUTO_TEST_CASE(wide_ids_only_for_wide_vocabularies) {
  refuses(u32_shard(), {"LLaMA", "20240801", "uint32", "65536"});
  refuses(with_word(u32_shard(), 1, 1), {"version 1", "wanted 7"}, 70'000);
  const TemporaryFolder folder;
  write_bytes(folder / "x.bin", u32_shard());
  std::vector<std::int32_t> ids(3);
  TokenDataset::open(folder / "x.bin", 70'000).read_tokens(0, ids);
  BOOST_TEST(ids == (std::vector<std::int32_t>{1, 2, 65539}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_size_must_match_exactly) {
  const std::string good = shard_bytes(counting(0, 5000));
  for (const std::size_t missing : {std::size_t{1}, std::size_t{2}, std::size_t{4096}, good.size() - 1024}) {
    const std::size_t size = good.size() - missing;
    refuses(good.substr(0, size), {std::to_string(size) + " bytes", "11024", "cut short"});
  }
  refuses(good.substr(0, 1000), {"1000 bytes", "1024"});
  refuses(good.substr(0, 3), {"3 bytes", "88 d8 34"});
  refuses("", {"0 bytes"});
  refuses(good + "ab", {"11026 bytes", "11024", "too long"});
  refuses(good + "a", {"11025 bytes", "too long"});
  refuses(with_word(good, 2, -1), {"-1", "negative"});
}

BOOST_AUTO_TEST_SUITE_END()
