#include "checkpoint/preallocate.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "core/error.hpp"

namespace shardgpt {

void preallocate(const std::filesystem::path& path) {
  const auto bytes = std::filesystem::file_size(path);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  int code = errno;
  if (descriptor >= 0) {
    // Unlike most calls this one returns its error.
    do {
      code = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
    } while (code == EINTR);
    ::close(descriptor);
  }
  if (code == 0) {
    return;
  }
  std::error_code ignored;  // the free space is only part of the message
  const auto space = std::filesystem::space(path, ignored);
  throw Error("cannot reserve " + std::to_string(bytes) + " bytes for " + path.string() + ": " +
              std::strerror(code) +
              (ignored ? "" : "; " + std::to_string(space.available) + " bytes are free"));
}

}  // namespace shardgpt
