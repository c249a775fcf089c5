#include <csignal>
#include <functional>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "token_files.hpp"
#include "tokens/lost_pages.hpp"
#include "tokens/mapped_file.hpp"

using namespace shardgpt;
using namespace shardgpt::testing;

BOOST_AUTO_TEST_SUITE(lost_pages)

namespace {

std::byte read_byte(const std::byte* address) {
  return *const_cast<const volatile std::byte*>(address);
}

/// What became of a process of its own that did `work`, with its standard error in `file`.
int status_of_child(const std::string& file, const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ::dup2(descriptor, STDERR_FILENO);
    ::signal(SIGBUS, SIG_DFL);  // not the test framework's
    work();
    ::_exit(0);
  }
  int status = 0;
  BOOST_TEST_REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

BOOST_AUTO_TEST_CASE(file_and_byte_are_named_and_the_process_ends_with_1) {
  const TemporaryFolder folder;
  write_bytes(folder / "other.bin", std::string(20'000, 'x'));
  write_bytes(folder / "cut.bin", std::string(20'000, 'x'));
  const int status = status_of_child(folder / "errors", [&] {
    explain_lost_pages("shardgpt-train rank 3");
    const MappedFile other(folder / "other.bin");
    MappedFile first(folder / "cut.bin");
    const MappedFile moved = std::move(first);
    std::filesystem::resize_file(folder / "cut.bin", 1000);
    static_cast<void>(read_byte(moved.bytes().data() + 19'999));
  });
  BOOST_TEST_REQUIRE(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == 1);
  BOOST_TEST(
      read_text_file(folder / "errors") ==
      "shardgpt-train rank 3: error: " + (folder / "cut.bin") +
          ": byte 19999 can no longer be read: the file was cut short while in use, or its disk fails\n");
}

BOOST_AUTO_TEST_CASE(bus_errors_elsewhere_keep_their_meaning) {
  const TemporaryFolder folder;
  write_bytes(folder / "cut.bin", std::string(20'000, 'x'));
  const int status = status_of_child(folder / "errors", [&] {
    explain_lost_pages("x");
    { const MappedFile gone(folder / "cut.bin"); }
    const int file = ::open((folder / "cut.bin").c_str(), O_RDONLY | O_CLOEXEC);
    const void* const mapping = ::mmap(nullptr, 20'000, PROT_READ, MAP_SHARED, file, 0);
    std::filesystem::resize_file(folder / "cut.bin", 0);
    static_cast<void>(read_byte(static_cast<const std::byte*>(mapping)));
  });
  BOOST_TEST_REQUIRE(WIFSIGNALED(status));
  BOOST_TEST(WTERMSIG(status) == SIGBUS);
  BOOST_TEST(read_text_file(folder / "errors").empty());
}

BOOST_AUTO_TEST_SUITE_END()
