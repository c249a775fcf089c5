#include <sstream>

#include <boost/test/unit_test.hpp>

#include "core/atomic_file.hpp"
#include "data_prep/commands.hpp"
#include "data_prep/megatron_index.hpp"
#include "small_tokenizer.hpp"
#include "tokens/token_dataset.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(interchange)

namespace {

using Ids = std::vector<std::int32_t>;
constexpr std::int32_t end_id = 599;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// An index as the format's description has it, written byte by byte.
std::string index_bytes(std::uint8_t code, const std::vector<std::int32_t>& lengths,
                        const std::vector<std::int64_t>& offsets,
                        const std::vector<std::int64_t>& documents) {
  return std::string("MMIDIDX\0\0", 9) + bytes_of<std::uint64_t>({1}) + bytes_of<std::uint8_t>({code}) +
         bytes_of<std::uint64_t>({lengths.size()}) + bytes_of<std::uint64_t>({documents.size()}) +
         bytes_of(lengths) + bytes_of(offsets) + bytes_of(documents);
}

struct Fixture {
  TemporaryFolder folder;
  std::ostringstream out;

  [[nodiscard]] ImportOptions import_options(const std::string& from, const std::string& file) const {
    ImportOptions options;
    options.from = from;
    options.files = {folder / file};
    options.vocab_size = 600;
    options.output = folder / "set";
    options.overwrite = true;
    return options;
  }
  void import(const ImportOptions& options) { run_import(options, out); }
  [[nodiscard]] Ids ids(const std::string& location = "set") const {
    const TokenDataset dataset = TokenDataset::open(folder / location, 0);
    Ids result(static_cast<std::size_t>(dataset.tokens()));
    dataset.read_tokens(0, result);
    return result;
  }
  void export_to(const std::string& to, const std::string& name, bool one_document = false) {
    ExportOptions options;
    options.source = folder / "set";
    options.to = to;
    options.output = folder / "out";
    options.name = name;
    options.shard_tokens = 4;
    options.one_document = one_document;
    run_export(options, out);
  }
  /// A set with documents {1, 2}, {3} and, not ended, {4, 5}.
  void make_set() const {
    DatasetManifest manifest = small_manifest("hash-a", 600);
    manifest.tokenizer.end_of_text_id = end_id;
    DatasetWriter writer(folder / "set", "tokens", TokenType::u16, 3, DatasetWriter::Existing::refuse);
    writer.append(Ids{1, 2, end_id, 3, end_id, 4, 5});
    writer.finish(manifest);
  }
  [[nodiscard]] std::string bytes(const std::string& name) const { return read_text_file(folder / name); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(nanogpt_is_ids_and_nothing_else, Fixture) {
  make_set();
  export_to("nanogpt", "train");
  BOOST_TEST((bytes("out/train.bin") == bytes_of<std::uint16_t>({1, 2, end_id, 3, end_id, 4, 5})));
  BOOST_CHECK_EXCEPTION(export_to("nanogpt", "train"), InputError, Says({"train.bin", "--overwrite"}));

  ImportOptions options = import_options("nanogpt", "out/train.bin");
  options.end_of_text_id = end_id;
  import(options);
  BOOST_TEST(ids() == (Ids{1, 2, end_id, 3, end_id, 4, 5}), boost::test_tools::per_element());
  const DatasetManifest manifest = read_manifest(folder / "set");
  BOOST_TEST(manifest.documents == 2);
  BOOST_TEST(manifest.document_policy == "imported");
  BOOST_TEST(manifest.sources.at(0).format == "nanogpt");

  options.vocab_size = 500;
  options.end_of_text_id = -1;
  BOOST_CHECK_EXCEPTION(import(options), InputError, Says({"train.bin", "token 2 (byte 4)", "599", "500"}));
  options.vocab_size = 0;
  BOOST_CHECK_EXCEPTION(import(options), InputError, Says({"--vocab-size"}));
  write_bytes(folder / "odd.bin", "abc");
  BOOST_CHECK_EXCEPTION(import(import_options("nanogpt", "odd.bin")), InputError,
                        Says({"odd.bin", "3 bytes"}));
  BOOST_CHECK_EXCEPTION(import(import_options("nanogpt", "absent.bin")), InputError, Says({"absent.bin"}));
  // The set from before is still whole.
  BOOST_TEST(ids().size() == 7U);
}

BOOST_FIXTURE_TEST_CASE(llmc_shards_go_in_and_out, Fixture) {
  make_set();
  export_to("llmc", "train");
  BOOST_TEST((bytes("out/train_000000.bin") == shard_bytes({1, 2, end_id, 3})));
  BOOST_TEST((bytes("out/train_000001.bin") == shard_bytes({end_id, 4, 5})));
  ImportOptions options = import_options("llmc", "out/train_000000.bin");
  options.files.push_back(folder / "out/train_000001.bin");
  write_small_tokenizer(folder);
  options.vocab = folder / "vocab.json";
  options.merges = folder / "merges.txt";
  import(options);
  BOOST_TEST(ids() == (Ids{1, 2, end_id, 3, end_id, 4, 5}), boost::test_tools::per_element());
  const DatasetManifest manifest = read_manifest(folder / "set");
  BOOST_TEST(manifest.tokenizer.hash == small_model().hash());
  BOOST_TEST(manifest.tokenizer.end_of_text_id.value() == end_id);
  run_verify({folder / "set"}, out);
  options.vocab_size = 601;
  BOOST_CHECK_EXCEPTION(import(options), InputError, Says({"601", "600 entries"}));
  write_bytes(folder / "cut.bin", shard_bytes({1, 2}).substr(0, 1026));
  BOOST_CHECK_EXCEPTION(import(import_options("llmc", "cut.bin")), InputError,
                        Says({"cut.bin", "cut short"}));
  write_bytes(folder / "big.bin", shard_bytes({1, 600}));
  BOOST_CHECK_EXCEPTION(import(import_options("llmc", "big.bin")), InputError,
                        Says({"big.bin", "token 1", "600"}));
}

BOOST_FIXTURE_TEST_CASE(megatron_keeps_documents, Fixture) {
  make_set();
  export_to("megatron", "train");
  BOOST_TEST((bytes("out/train.bin") == bytes_of<std::uint16_t>({1, 2, end_id, 3, end_id, 4, 5})));
  BOOST_TEST((bytes("out/train.idx") == index_bytes(8, {3, 2, 2}, {0, 6, 10}, {0, 1, 2, 3})));

  ImportOptions options = import_options("megatron", "out/train");
  options.end_of_text_id = end_id;
  import(options);  // the end that the last document lacks is added
  BOOST_TEST(ids() == (Ids{1, 2, end_id, 3, end_id, 4, 5, end_id}), boost::test_tools::per_element());
  BOOST_TEST(read_manifest(folder / "set").documents == 3);
  options.no_eot = true;
  options.files = {folder / "out/train.idx"};
  import(options);
  BOOST_TEST(ids().size() == 7U);
  options.no_eot = false;
  options.end_of_text_id = -1;
  BOOST_CHECK_EXCEPTION(import(options), InputError, Says({"--end-of-text-id"}));

  export_to("megatron", "one", /*one_document=*/true);
  BOOST_TEST((bytes("out/one.idx") == index_bytes(8, {7}, {0}, {0, 1})));
}

BOOST_FIXTURE_TEST_CASE(megatron_types_and_orders, Fixture) {
  // Sequences may lie in any order, documents have several or none.
  const std::vector<std::int32_t> lengths = {2, 1, 0};
  const std::vector<std::int64_t> documents = {0, 0, 2, 3};
  const auto imported = [&](std::uint8_t code, std::int64_t each, const std::string& ids_bytes) {
    write_bytes(folder / "m.bin", ids_bytes);
    write_bytes(folder / "m.idx", index_bytes(code, lengths, {each, 0, 0}, documents));
    ImportOptions options = import_options("megatron", "m.bin");
    options.end_of_text_id = end_id;
    import(options);
    return ids();
  };
  const Ids wanted = {8, 9, 7, end_id};
  BOOST_TEST((imported(1, 1, bytes_of<std::uint8_t>({7, 8, 9})) == wanted));
  BOOST_TEST((imported(2, 1, bytes_of<std::int8_t>({7, 8, 9})) == wanted));
  BOOST_TEST((imported(3, 2, bytes_of<std::int16_t>({7, 8, 9})) == wanted));
  BOOST_TEST((imported(4, 4, bytes_of<std::int32_t>({7, 8, 9})) == wanted));
  BOOST_TEST((imported(5, 8, bytes_of<std::int64_t>({7, 8, 9})) == wanted));
  BOOST_TEST((imported(8, 2, bytes_of<std::uint16_t>({7, 8, 9})) == wanted));
  BOOST_TEST(read_manifest(folder / "set").documents == 1);
  BOOST_CHECK_EXCEPTION(imported(5, 8, bytes_of<std::int64_t>({7, std::int64_t{1} << 32, 9})), InputError,
                        Says({"m.bin", "token 1 (byte 8)", "4294967296"}));
  BOOST_CHECK_EXCEPTION(imported(4, 4, bytes_of<std::int32_t>({7, -8, 9})), InputError, Says({"-8"}));
}

BOOST_FIXTURE_TEST_CASE(damaged_megatron_indexes_are_refused, Fixture) {
  const std::string good = index_bytes(8, {3, 2}, {0, 6}, {0, 1, 2});
  const auto refuses = [&](const std::string& bytes, std::int64_t bin_bytes,
                           const std::vector<std::string>& says) {
    write_bytes(folder / "m.idx", bytes);
    BOOST_CHECK_EXCEPTION(static_cast<void>(read_megatron_index(folder / "m.idx", bin_bytes)), InputError,
                          Says(says));
  };
  write_bytes(folder / "m.idx", good);
  BOOST_TEST(read_megatron_index(folder / "m.idx", 10).documents.size() == 3U);
  refuses(good, 9, {"m.idx", "sequence 1", "9 bytes"});
  refuses("MMIDIDX", 10, {"does not begin"});
  refuses(good.substr(0, 20), 10, {"cut short"});
  for (const std::size_t cut : {std::size_t{1}, std::size_t{8}, std::size_t{30}}) {
    refuses(good.substr(0, good.size() - cut), 10, {"too short"});
  }
  refuses(good + "x", 10, {"too long"});
  refuses(good + "xx", 10, {"multimodal"});
  std::string changed = good;
  changed[9] = 2;
  refuses(changed, 10, {"version 2", "byte 9"});
  for (const char code : {'\0', '\x06', '\x07', '\x09'}) {
    changed = good;
    changed[17] = code;
    refuses(changed, 10, {"type code", "byte 17"});
  }
  changed = good;
  changed.replace(18, 8, 8, '\xff');  // a count whose product overflows
  refuses(changed, 10, {"too short"});
  changed = good;
  changed.replace(26, 8, 8, '\xff');
  refuses(changed, 10, {"too short"});
  refuses(index_bytes(8, {-3, 2}, {0, 6}, {0, 1, 2}), 10, {"length -3"});
  refuses(index_bytes(8, {3, 2}, {0, 7}, {0, 1, 2}), 12, {"byte 7"});
  refuses(index_bytes(8, {3, 2}, {-2, 6}, {0, 1, 2}), 10, {"byte -2"});
  refuses(index_bytes(8, {3, 2}, {0, std::int64_t{1} << 62}, {0, 1, 2}), 10, {"sequence 1"});
  refuses(index_bytes(8, {3, 2}, {0, 6}, {0, 2, 1}), 10, {"list of documents"});
  refuses(index_bytes(8, {3, 2}, {0, 6}, {0, 3, 1, 2}), 10, {"document 2"});
  refuses(index_bytes(8, {3, 2}, {0, 6}, {}), 10, {"list of documents"});
}

BOOST_FIXTURE_TEST_CASE(a_set_is_not_exported_over, Fixture) {
  make_set();
  ExportOptions options;
  options.source = folder / "set";
  options.to = "llmc";
  options.output = folder / "set";
  BOOST_CHECK_EXCEPTION(run_export(options, out), InputError, Says({"dataset.json", "another folder"}));
}

BOOST_AUTO_TEST_SUITE_END()
