#include <cstring>

#include <boost/test/unit_test.hpp>

#include "checkpoint/checksums.hpp"
#include "core/error.hpp"

using namespace shardgpt;

namespace {

ModelConfig tiny_config() {
  ModelConfig config;
  config.layers = 1;
  config.heads = 1;
  config.embd = 4;
  config.vocab = 5;
  config.positions = 3;
  config.bos_token = 4;
  config.eos_token = 4;
  return config;
}

/// Fragments of all units cut into pieces of `piece` elements, with the checksums of element numbers.
std::vector<TensorFragment> cut(const TensorTable& table, std::int64_t piece) {
  std::vector<TensorFragment> all;
  for (std::size_t unit = 0; unit < table.units().size(); ++unit) {
    for (std::int64_t begin = 0; begin < table.units()[unit].elements; begin += piece) {
      const std::int64_t count = std::min(piece, table.units()[unit].elements - begin);
      for (TensorFragment fragment : fragments_of(table, static_cast<std::int64_t>(unit), begin, count)) {
        std::vector<float> values;
        for (std::int64_t i = 0; i < fragment.count; ++i) {
          values.push_back(static_cast<float>(fragment.begin + i));
        }
        fragment.crc = {crc32_of(std::span<const float>(values)), 1, 2};
        fragment.crc[1] = fragment.crc[2] = fragment.crc[0];
        all.push_back(fragment);
      }
    }
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(checksums)

BOOST_AUTO_TEST_CASE(known_value) {
  BOOST_TEST(crc32_of(std::string("123456789")) == 0xcbf43926U);
  BOOST_TEST(crc32_of(std::string(), 5) == 5U);
  BOOST_TEST(crc32_of(std::string("6789"), crc32_of(std::string("12345"))) == 0xcbf43926U);
}

BOOST_AUTO_TEST_CASE(joined_fragments_do_not_depend_on_the_cuts) {
  const TensorTable table(tiny_config());
  const TensorChecksums whole = join_fragments(table, cut(table, 1 << 20), Overlap::refuse);
  BOOST_TEST(whole.size() == table.tensors().size());
  for (const std::int64_t piece : {1, 2, 3, 7, 50}) {
    BOOST_TEST((join_fragments(table, cut(table, piece), Overlap::refuse) == whole));
  }
}

BOOST_AUTO_TEST_CASE(gaps_and_overlaps_are_refused) {
  const TensorTable table(tiny_config());
  auto fragments = cut(table, 7);
  auto missing = fragments;
  missing.erase(missing.begin() + 3);
  BOOST_CHECK_THROW((void)join_fragments(table, missing, Overlap::refuse), Error);
  auto twice = fragments;
  twice.push_back(twice[3]);
  BOOST_CHECK_THROW((void)join_fragments(table, twice, Overlap::refuse), Error);
  BOOST_TEST((join_fragments(table, twice, Overlap::accept_equal) ==
              join_fragments(table, fragments, Overlap::refuse)));
  twice.back().crc[0] ^= 1U;
  BOOST_CHECK_THROW((void)join_fragments(table, twice, Overlap::accept_equal), Error);
}

BOOST_AUTO_TEST_CASE(the_crc_of_zeros_is_that_of_their_bytes) {
  for (const std::size_t bytes : {0U, 1U, 2U, 3U, 4U, 1023U, 1024U, 65'537U, 1'000'000U}) {
    const std::vector<std::byte> zeros(bytes);
    BOOST_TEST(crc32_of_zeros(static_cast<std::int64_t>(bytes)) == crc32_of(std::span(zeros)));
  }
}

BOOST_AUTO_TEST_SUITE_END()
