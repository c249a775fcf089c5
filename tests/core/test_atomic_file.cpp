#include <filesystem>
#include <fstream>

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "core/atomic_file.hpp"
#include "core/error.hpp"

using namespace shardgpt;

namespace {

struct TemporaryFolder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("shardgpt-test-" + std::to_string(::getpid()));
  TemporaryFolder() { std::filesystem::create_directories(path); }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(atomic_file, TemporaryFolder)

BOOST_AUTO_TEST_CASE(replaces_the_whole_file_and_leaves_nothing_else) {
  write_file_atomically(path / "a", "a longer first text");
  write_file_atomically(path / "a", std::string_view("x\0y", 3));
  BOOST_TEST(read_text_file(path / "a") == std::string("x\0y", 3));
  BOOST_TEST(std::distance(std::filesystem::directory_iterator(path), {}) == 1);
}

BOOST_AUTO_TEST_CASE(failure_names_the_path_and_keeps_the_old_file) {
  BOOST_CHECK_EXCEPTION(write_file_atomically(path / "no-folder" / "a", "x"), Error, [](const Error& error) {
    return std::string(error.what()).find("no-folder") != std::string::npos;
  });
  BOOST_CHECK_THROW((void)read_text_file(path / "missing"), InputError);
}

BOOST_AUTO_TEST_SUITE_END()
