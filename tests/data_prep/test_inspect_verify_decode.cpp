#include <sstream>

#include <boost/test/unit_test.hpp>

#include "core/atomic_file.hpp"
#include "data_prep/commands.hpp"
#include "small_tokenizer.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(inspect_verify_decode)

namespace {

struct Fixture {
  TemporaryFolder folder;
  std::string text = english_like(5000);
  std::ostringstream out;

  Fixture() {
    write_small_tokenizer(folder);
    write_bytes(folder / "x.txt", text);
    EncodeOptions options;
    options.vocab = folder / "vocab.json";
    options.merges = folder / "merges.txt";
    options.output = folder / "set";
    options.files = {folder / "x.txt"};
    options.shard_tokens = 700;
    std::ostringstream ignored;
    run_encode(options, ignored);
  }
  void verify() { run_verify({folder / "set"}, out); }
  void flip_byte(const std::string& name, std::size_t place) const {
    std::string bytes = read_text_file(folder / name);
    bytes.at(place) = static_cast<char>(bytes[place] ^ 1);
    write_bytes(folder / name, bytes);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_good_set_verifies, Fixture) {
  verify();
  BOOST_TEST(out.str().find("tokens_000000.bin ok") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(any_change_is_found, Fixture) {
  for (const std::size_t place : {std::size_t{1024}, std::size_t{1500}, std::size_t{600}}) {
    flip_byte("set/tokens_000001.bin", place);
    BOOST_CHECK_EXCEPTION(verify(), InputError, Says({folder / "set/tokens_000001.bin", "XXH3-64"}));
    flip_byte("set/tokens_000001.bin", place);
  }
  verify();
  const std::string shard = read_text_file(folder / "set/tokens_000000.bin");
  write_bytes(folder / "set/tokens_000000.bin", shard.substr(0, shard.size() - 2));
  BOOST_CHECK_EXCEPTION(verify(), InputError, Says({"tokens_000000.bin", "cut short"}));
  std::filesystem::remove(folder / "set/tokens_000000.bin");
  BOOST_CHECK_EXCEPTION(verify(), InputError, Says({"tokens_000000.bin", "No such file"}));
  write_bytes(folder / "set/tokens_000000.bin", shard);
  write_bytes(folder / "set/zzz.bin", shard);
  BOOST_CHECK_EXCEPTION(verify(), InputError, Says({"zzz.bin", "not listed"}));
  std::filesystem::remove(folder / "set/zzz.bin");
  write_bytes(folder / "set/merges.txt", "#version: 0.2\n");
  BOOST_CHECK_EXCEPTION(verify(), InputError, Says({"merges.txt", "tokenizer hash"}));
  BOOST_CHECK_EXCEPTION(run_verify({folder / "absent"}, out), InputError, Says({"absent"}));
}

BOOST_FIXTURE_TEST_CASE(inspect_shows_sets_and_shards, Fixture) {
  run_inspect({folder / "set"}, out);
  BOOST_TEST(out.str().find("600 entries") != std::string::npos);
  BOOST_TEST(out.str().find("tokens_000001.bin           700") != std::string::npos);
  BOOST_TEST(out.str().find("bytes per token     ") != std::string::npos);
  BOOST_TEST(out.str().find(std::to_string(text.size()) + " bytes of text") != std::string::npos);
  BOOST_TEST(out.str().find("distinct ids        ") != std::string::npos);
  BOOST_TEST(out.str().find("'<|endoftext|>'") == std::string::npos);  // once, so not among the first
  out.str("");
  write_bytes(folder / "foreign.bin", shard_bytes({5, 6, 7}));
  run_inspect({folder / "foreign.bin"}, out);
  BOOST_TEST(out.str().find("3 (uint16 ids, largest 7)") != std::string::npos);
  BOOST_TEST(out.str().find("5 6 7") != std::string::npos);
  BOOST_TEST(out.str().find("distinct ids        3\n") != std::string::npos);
  out.str("");
  InspectOptions options;
  options.location = folder / "foreign.bin";
  options.vocab = folder / "vocab.json";
  options.merges = folder / "merges.txt";
  options.top = 1;
  run_inspect(options, out);
  BOOST_TEST(out.str().find("33.33 %  '&'\n") != std::string::npos);
  BOOST_TEST(out.str().find("distinct ids        3 of 600\n") != std::string::npos);
  out.str("");
  options.quick = true;
  run_inspect(options, out);
  BOOST_TEST(out.str().find("distinct") == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(decode_gives_the_exact_bytes, Fixture) {
  DecodeOptions options;
  options.files = {folder / "set"};
  run_decode(options, out);
  BOOST_TEST((out.str() == text + "<|endoftext|>"));

  out.str("");
  options.skip_eot = true;
  run_decode(options, out);
  BOOST_TEST((out.str() == text));

  options.output = folder / "back.txt";
  options.vocab = folder / "vocab.json";
  options.merges = folder / "merges.txt";
  run_decode(options, out);
  BOOST_TEST((read_text_file(folder / "back.txt") == text));

  options.merges.clear();
  BOOST_CHECK_EXCEPTION(run_decode(options, out), InputError, Says({"--merges"}));
}

BOOST_FIXTURE_TEST_CASE(decode_refuses_ids_of_another_tokenizer, Fixture) {
  write_bytes(folder / "foreign.bin", shard_bytes({5, 50256}));
  DecodeOptions options;
  options.files = {folder / "foreign.bin"};
  BOOST_CHECK_EXCEPTION(run_decode(options, out), InputError, Says({"--vocab"}));
  options.vocab = folder / "vocab.json";
  options.merges = folder / "merges.txt";
  BOOST_CHECK_EXCEPTION(run_decode(options, out), InputError, Says({"foreign.bin", "50256", "600 entries"}));
}

BOOST_FIXTURE_TEST_CASE(train_bpe_writes_a_tokenizer_the_same_for_any_threads, Fixture) {
  write_bytes(folder / "big.txt", english_like(3'000'000, 9) + "<|endoftext|>");
  TrainBpeOptions options;
  options.files = {folder / "big.txt", folder / "x.txt"};
  options.vocab_size = 500;
  for (const std::int64_t threads : {1, 3}) {
    options.threads = threads;
    options.output = folder / ("bpe" + std::to_string(threads));
    run_train_bpe(options, out);
  }
  BOOST_TEST(read_text_file(folder / "bpe1/vocab.json") == read_text_file(folder / "bpe3/vocab.json"));
  BOOST_TEST(read_text_file(folder / "bpe1/merges.txt") == read_text_file(folder / "bpe3/merges.txt"));
  BOOST_TEST(BpeModel::load(folder / "bpe1/vocab.json", folder / "bpe1/merges.txt").vocab_size() == 500);
  BOOST_CHECK_EXCEPTION(run_train_bpe(options, out), InputError, Says({"--overwrite"}));
  write_bytes(folder / "empty.txt", "");
  options.files = {folder / "empty.txt"};
  options.overwrite = true;
  BOOST_CHECK_EXCEPTION(run_train_bpe(options, out), InputError, Says({"no text"}));
}

BOOST_AUTO_TEST_SUITE_END()
