#include "hf/binary_reader.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>

#include "core/error.hpp"

namespace shardgpt {

BinaryReader::BinaryReader(std::filesystem::path path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  SHARDGPT_REQUIRE(file_.get() >= 0, "cannot open " + path_.string() + ": " + std::strerror(errno));
  struct stat status {};
  SHARDGPT_REQUIRE(::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode),
                   path_.string() + " is not a regular file");
  bytes_ = status.st_size;
}

void BinaryReader::read(std::int64_t offset, std::span<std::byte> bytes) const {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got =
        ::pread(file_.get(), bytes.data() + done, bytes.size() - done, offset + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      throw Error("cannot read " + path_.string() + ": " + std::strerror(errno));
    }
    SHARDGPT_REQUIRE(got > 0, path_.string() + " was cut short while it was read");
    done += static_cast<std::size_t>(got);
  }
}

}  // namespace shardgpt
