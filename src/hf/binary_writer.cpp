#include "hf/binary_writer.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>

#include "core/error.hpp"

namespace shardgpt {

BinaryWriter::BinaryWriter(std::filesystem::path path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
  if (file_.get() < 0) {
    throw Error("cannot create " + path_.string() + ": " + std::strerror(errno));
  }
}

void BinaryWriter::write(std::span<const std::byte> bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t put = ::write(file_.get(), bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put < 0) {
      throw Error("cannot write " + path_.string() + ": " + std::strerror(errno));
    }
    done += static_cast<std::size_t>(put);
  }
}

void BinaryWriter::finish() {
  if (::fsync(file_.get()) != 0 || file_.close() != 0) {
    throw Error("cannot write " + path_.string() + ": " + std::strerror(errno));
  }
}

}  // namespace shardgpt
