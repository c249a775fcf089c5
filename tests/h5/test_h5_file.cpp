#include <array>
#include <fstream>
#include <numeric>

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "core/atomic_file.hpp"
#include "h5/h5_file.hpp"

using namespace shardgpt;

namespace {

struct H5Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("shardgpt-h5-test-" + std::to_string(::getpid()));
  std::filesystem::path file = path / "a.h5";
  H5Folder() { std::filesystem::create_directories(path); }
  ~H5Folder() { std::filesystem::remove_all(path); }
};

template <class Work>
bool throws_naming(const std::string& part, H5Error::Cause cause, Work&& work) {
  try {
    work();
  } catch (const H5Error& error) {
    BOOST_TEST(std::string(error.what()).find(part) != std::string::npos, error.what());
    return error.cause() == cause;
  }
  return false;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(h5_file, H5Folder)

BOOST_AUTO_TEST_CASE(what_is_written_is_read_back) {
  const std::array<std::int64_t, 2> dims = {2, 3};
  const std::vector<std::int64_t> numbers = {1, -2, std::int64_t{1} << 40, 4, 5, 6};
  const std::vector<std::string> texts = {"a", "longer", ""};
  {
    H5File out = H5File::create(file);
    out.create_group("/g");
    out.create_array<std::int64_t>("/g/numbers", dims, numbers);
    const std::uint32_t scalar = 0xcafebabe;
    out.create_array<std::uint32_t>("/scalar", {}, std::span(&scalar, 1));
    out.create_text("/text", "some text");
    out.create_texts("/texts", texts, 6);
    out.close();
  }
  const H5File in = H5File::open(file, H5File::Access::read);
  BOOST_TEST(in.read_array<std::int64_t>("/g/numbers", dims) == numbers, boost::test_tools::per_element());
  BOOST_TEST(in.read_array<std::uint32_t>("/scalar", {}).at(0) == 0xcafebabeU);
  BOOST_TEST(in.read_text("/text", 100) == "some text");
  BOOST_TEST(in.read_texts("/texts", 3, 10) == texts, boost::test_tools::per_element());
  BOOST_TEST(in.contains("/text"));
  BOOST_TEST(!in.contains("/none"));
}

BOOST_AUTO_TEST_CASE(floats_of_one_and_two_dimensions) {
  const std::array<std::int64_t, 2> dims = {4, 3};
  H5File out = H5File::create(file);
  out.create_floats("/flat", std::span(dims).first(1));
  out.create_floats("/rows", dims);
  std::vector<float> values(12);
  std::iota(values.begin(), values.end(), 0.0F);
  out.write_floats("/rows", 0, std::span<const float>(values).first(6));
  out.write_floats("/rows", 6, std::span<const float>(values).subspan(6));
  std::vector<float> read(12);
  out.read_floats("/rows", 0, read);
  BOOST_TEST(read == values, boost::test_tools::per_element());
  out.write_floats("/flat", 1, std::span<const float>(values).subspan(1, 2));
  out.read_floats("/flat", 0, std::span(read).first(4));
  BOOST_TEST(read[0] == 0.0F);  // never filled: a new file reads as zeros
  BOOST_TEST(read[2] == 2.0F);
  BOOST_TEST(out.shape_of("/rows").is_contiguous);
  BOOST_TEST(out.shape_of("/rows").is_float32);
  BOOST_TEST(out.shape_of("/rows").stored_bytes == 48);
  using Cause = H5Error::Cause;
  BOOST_TEST(throws_naming("not whole rows", Cause::content,
                           [&] { out.read_floats("/rows", 1, std::span(read).first(3)); }));
  BOOST_TEST(throws_naming("elements 3 to 5 are wanted of 4", Cause::content,
                           [&] { out.read_floats("/flat", 3, std::span(read).first(2)); }));
  BOOST_TEST(throws_naming("/none", Cause::content, [&] { out.read_floats("/none", 0, read); }));
}

BOOST_AUTO_TEST_CASE(wrong_shapes_and_sizes_are_refused_before_memory_is_taken) {
  using Cause = H5Error::Cause;
  H5File out = H5File::create(file);
  out.create_text("/text", std::string(1000, 'x'));
  const std::vector<std::int32_t> numbers = {1, 2, 3};
  const std::array<std::int64_t, 1> three = {3};
  const std::array<std::int64_t, 1> four = {4};
  out.create_array<std::int32_t>("/numbers", three, numbers);
  BOOST_TEST(throws_naming("wanted 1 to 999", Cause::content, [&] { (void)out.read_text("/text", 999); }));
  BOOST_TEST(throws_naming("/numbers", Cause::content,
                           [&] { (void)out.read_array<std::int32_t>("/numbers", four); }));
  BOOST_TEST(throws_naming("fixed-length", Cause::content, [&] { (void)out.read_texts("/numbers", 3, 10); }));
  BOOST_TEST(throws_naming("3 values for 4", Cause::content,
                           [&] { out.create_array<std::int32_t>("/more", four, numbers); }));
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_opened_are_named_with_the_cause) {
  using Cause = H5Error::Cause;
  BOOST_TEST(throws_naming("a.h5: No such file", Cause::system,
                           [&] { (void)H5File::open(file, H5File::Access::read); }));
  std::ofstream(file) << "no HDF5 at all";
  BOOST_TEST(throws_naming("a.h5", Cause::content, [&] { (void)H5File::open(file, H5File::Access::read); }));
  BOOST_TEST(throws_naming("a.h5", Cause::system, [&] { (void)H5File::create(file); }));
  BOOST_TEST(
      throws_naming("none/a.h5", Cause::system, [&] { (void)H5File::create(path / "none" / "a.h5"); }));
}

// HDF5 1.8 and later read version 2; newer versions shut out the tools of older sites.
BOOST_AUTO_TEST_CASE(the_superblock_is_the_one_that_older_tools_read) {
  H5File out = H5File::create(file);
  out.create_text("/text", "x");
  out.close();
  BOOST_TEST(read_text_file(file).substr(0, 9) == "\x89HDF\r\n\x1a\n\x02");
}

BOOST_AUTO_TEST_CASE(an_open_file_does_not_hinder_another_reader) {
  {
    H5File out = H5File::create(file);
    out.create_text("/text", "x");
  }
  const H5File first = H5File::open(file, H5File::Access::read);
  const H5File second = H5File::open(file, H5File::Access::read);
  BOOST_TEST(second.read_text("/text", 1) == first.read_text("/text", 1));
}

BOOST_AUTO_TEST_SUITE_END()
