#include <cstring>

#include <boost/test/unit_test.hpp>

#include "core/atomic_file.hpp"
#include "core/error.hpp"
#include "hf/safetensors_reader.hpp"
#include "hf/safetensors_writer.hpp"
#include "hf_folder.hpp"

using namespace shardgpt;

namespace {

/// The error of opening a file made of these two parts.
std::string open_error(const TestFolder& folder, const std::string& header, const std::string& data) {
  const auto file = folder.path / "bad.safetensors";
  write_raw_safetensors(file, header, data);
  return error_of([&] { const SafetensorsReader reader(file); });
}

std::string entry(const std::string& name, const std::string& shape, const std::string& offsets,
                  const std::string& dtype = "F32") {
  std::string text = "\"";
  text.append(name).append(R"(":{"dtype":")").append(dtype).append(R"(","shape":)").append(shape);
  return text.append(R"(,"data_offsets":)").append(offsets).append("}");
}

/// Entries as one JSON object.
std::string object(std::initializer_list<std::string> entries) {
  std::string text(1, '{');
  for (const std::string& each : entries) {
    text.append(text.size() == 1 ? "" : ",").append(each);
  }
  return text.append("}");
}

std::vector<float> read_all(const SafetensorsReader& reader, const std::string& name) {
  for (const SafetensorsEntry& found : reader.header().entries) {
    if (found.name == name) {
      std::vector<float> values(static_cast<std::size_t>(found.elements));
      reader.read(found, 0, values);
      return values;
    }
  }
  return {};
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(safetensors, TestFolder)

// H13: each passes some per-tensor check; all are refused, naming the tensor.
BOOST_AUTO_TEST_CASE(headers_that_lie_are_refused) {
  const std::string bytes(16, 'x');
  struct Case {
    std::string header;
    std::string data;
    std::string wanted;
  };
  const std::vector<Case> cases = {
      {object({entry("a", "[2]", "[0,8]"), entry("b", "[2]", "[4,12]")}), bytes.substr(4),
       "b shares bytes with a"},
      {object({entry("a", "[1]", "[0,4]"), entry("b", "[1]", "[12,16]")}), bytes, "b: the 8 bytes before it"},
      {object({entry("a", "[2]", "[0,8]")}), bytes, "8 bytes after a belong to no tensor"},
      {object({entry("a", "[2]", "[8,16]")}), bytes, "a: the 8 bytes before it"},
      {object({entry("a", "[2]", "[0,8]"), entry("a", "[2]", "[8,16]")}), bytes, "\"a\" comes twice"},
      {object({entry("a", "[2]", "[8,0]")}), bytes, "tensor a: data_offsets"},
      {object({entry("a", "[8]", "[0,32]")}), bytes, "a ends at byte 32"},
      {object({entry("a", "[3]", "[0,16]")}), bytes, "are not the 12 bytes"},
      {object({entry("a", "[4294967296,4294967296,4294967296]", "[0,16]")}), bytes, "overflows 64 bits"},
      {object({entry("a", "[4611686018427387904,4]", "[0,0]")}), "", "overflows 64 bits"},
      {object({entry("a", "[4]", "[\"0\",\"16\"]")}), bytes, "data_offsets is \"0\""},
      {object({entry("a", "[-4]", "[0,16]")}), bytes, "shape is -4"},
      {object({entry("a", "[4.0]", "[0,16]")}), bytes, "shape is 4.0"},
      {object({entry("a", "[4]", "[0,18446744073709551615]")}), bytes,
       "data_offsets is 18446744073709551615"},
      {object({entry("a", "[4]", "[0,16,16]")}), bytes, "wanted two numbers"},
      {object({entry("a", "4", "[0,16]")}), bytes, "shape is 4"},
      {object({entry("a", "[4]", "[0,16]", "Q4")}), bytes, "unknown dtype"},
      {R"({"a":{"dtype":"F32","shape":[4]}})", bytes, "a: data_offsets is missing"},
      {R"({"a":{"dtype":"F32","dtype":"F32","shape":[4],"data_offsets":[0,16]}})", bytes,
       "\"dtype\" comes twice"},
      {R"({"a":7})", bytes, "tensor a: dtype is missing"},
      {R"({"__metadata__":{"format":1}})", "", "__metadata__"},
      {R"([1,2])", "", "does not start with"},
      {R"( {})", "", "does not start with"},
      {object({entry("a", std::string(100'000, '['), "[0,16]")}), bytes, "nested deeper than 64"},
      {object({entry("a", std::string(100'000, '[') + std::string(100'000, ']'), "[0,16]")}), bytes,
       "nested deeper than 64"},
      {R"({"a":)", "", "not valid JSON"},
      {R"({} x)", "", "not valid JSON"},
      {"", "", "does not start with"}};
  for (const Case& each : cases) {
    const std::string error = open_error(*this, each.header, each.data);
    BOOST_TEST_CONTEXT(each.header) {
      BOOST_TEST(has(error, each.wanted), error);
    }
  }
}

BOOST_AUTO_TEST_CASE(messages_stay_short) {
  const std::string number(10'000, '1');
  std::string list(1, '[');
  std::string text = "\"";
  for (int i = 0; i < 5'000; ++i) {
    list += "1,";
    text += "\u00e9";
  }
  for (const std::string& wrong :
       {"[" + number + "]", "\"" + number + "\"", list + "1]", "{\"1\":" + text + "\"}"}) {
    const std::string error = open_error(*this, object({entry("a", wrong, "[0,16]")}), std::string(16, 'x'));
    BOOST_TEST(has(error, "..."), error);
    BOOST_TEST(error.size() < 500);
  }
}

BOOST_AUTO_TEST_CASE(lengths_that_lie_are_refused) {
  const auto file = path / "bad.safetensors";
  for (const std::uint64_t length : {std::uint64_t{9}, std::uint64_t{100'000'000}, std::uint64_t{100'000'001},
                                     ~std::uint64_t{0}, std::uint64_t{1} << 63U}) {
    std::string content(sizeof(length), '\0');
    std::memcpy(content.data(), &length, sizeof(length));
    write_file_atomically(file, content + "{}");
    BOOST_TEST(has(error_of([&] { const SafetensorsReader reader(file); }), "the header says"));
  }
  write_file_atomically(file, "1234567");
  BOOST_TEST(has(error_of([&] { const SafetensorsReader reader(file); }), "too few"));
  BOOST_CHECK_THROW(SafetensorsReader(path / "missing"), InputError);
  BOOST_CHECK_THROW(SafetensorsReader{path}, InputError);
}

// H01
BOOST_AUTO_TEST_CASE(any_metadata_is_read) {
  for (const char* metadata : {R"("__metadata__":{},)", R"("__metadata__":null,)",
                               R"("__metadata__":{"format":"pt","more":"text"},)", ""}) {
    const std::string header = std::string("{") + metadata + entry("a", "[1]", "[0,4]") + "}";
    BOOST_TEST(open_error(*this, header, "1234").empty());
  }
}

// H12: header of odd length, odd-sized tensor before a float one, keys out of order, trailing blanks.
BOOST_AUTO_TEST_CASE(nothing_needs_alignment) {
  const auto file = path / "odd.safetensors";
  const std::string floats = float_bytes({1.5F, -2.25F});
  for (const char* blanks : {"", " ", "  ", "       \n"}) {
    write_raw_safetensors(file,
                          object({entry("z", "[2]", "[3,11]"), entry("m", "[3]", "[0,3]", "U8")}) + blanks,
                          "abc" + floats);
    const SafetensorsReader reader(file);
    BOOST_TEST(reader.header().entries.size() == 2);
    BOOST_TEST(read_all(reader, "z") == (std::vector{1.5F, -2.25F}), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(empty_tensors_and_scalars_are_read) {
  const auto file = path / "small.safetensors";
  write_raw_safetensors(file, object({entry("e", "[0,5]", "[0,0]"), entry("s", "[]", "[0,4]")}),
                        float_bytes({3.0F}));
  const SafetensorsReader reader(file);
  BOOST_TEST(read_all(reader, "e").empty());
  BOOST_TEST(read_all(reader, "s") == (std::vector{3.0F}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read_and_aligned) {
  for (const WeightType type : {WeightType::f32, WeightType::bf16, WeightType::f16}) {
    for (const char* name : {"a", "ab", "abc", "a\"quoted\""}) {
      const auto file = path / (std::string(torch_name(type)) + ".safetensors");
      std::filesystem::remove(file);
      SafetensorsWriter writer(file, type, {{name, {2, 2}, 4}, {"empty", {0}, 0}}, {{"key", "value"}});
      const std::vector<float> values = {1.0F, -0.5F, 2.0F, 0.0F};
      writer.append(name, std::span(values).first(1));
      writer.append(name, std::span(values).subspan(1));
      writer.append("empty", {});
      writer.finish();
      const SafetensorsReader reader(file);
      BOOST_TEST(read_all(reader, name) == values, boost::test_tools::per_element());
      BOOST_TEST(reader.header().metadata.at("format") == "pt");
      BOOST_TEST(reader.header().metadata.at("key") == "value");
      const std::string content = read_text_file(file);
      std::uint64_t length = 0;
      std::memcpy(&length, content.data(), sizeof(length));
      BOOST_TEST(length % 8 == 0);
      BOOST_TEST(content[8] == '{');
    }
  }
}

BOOST_AUTO_TEST_CASE(writing_out_of_turn_is_an_error_of_the_caller) {
  SafetensorsWriter writer(path / "a", WeightType::f32, {{"a", {2}, 2}, {"b", {1}, 1}});
  const std::vector<float> values(3);
  BOOST_CHECK_THROW(writer.append("b", std::span(values).first(1)), std::logic_error);
  BOOST_CHECK_THROW(writer.append("a", values), std::logic_error);
  BOOST_CHECK_THROW(writer.finish(), std::logic_error);
  BOOST_CHECK_THROW(SafetensorsWriter(path / "a", WeightType::f32, {}), Error);
}

BOOST_AUTO_TEST_SUITE_END()
