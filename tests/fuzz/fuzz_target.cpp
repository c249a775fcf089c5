#include "fuzz_target.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

namespace shardgpt::fuzz {

void require(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "finding: %s\n", what);
    std::abort();
  }
}

std::filesystem::path file_with(std::span<const std::byte> content) {
  static const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  require(file >= 0 && ::ftruncate(file, static_cast<off_t>(content.size())) == 0, "no file in memory");
  const ssize_t put = content.empty() ? 0 : ::pwrite(file, content.data(), content.size(), 0);
  require(put == static_cast<ssize_t>(content.size()), "no memory for the file");
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace shardgpt::fuzz
