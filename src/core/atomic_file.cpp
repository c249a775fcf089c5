#include "core/atomic_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"

namespace shardgpt {
namespace {

[[noreturn]] void throw_errno(const std::string& action, const std::filesystem::path& path) {
  const int code = errno;
  throw Error("cannot " + action + " " + path.string() + ": " + std::strerror(code));
}

/// Owner of a POSIX file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int raw) : raw_(raw) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (raw_ >= 0) {
      ::close(raw_);
    }
  }
  [[nodiscard]] int get() const { return raw_; }
  /// Closes now, so that a late write error is seen.
  [[nodiscard]] int close() { return ::close(std::exchange(raw_, -1)); }

 private:
  int raw_;
};

void sync_path(const std::filesystem::path& path, int flags) {
  const Descriptor file(::open(path.c_str(), flags | O_CLOEXEC));
  if (file.get() < 0) {
    throw_errno("open", path);
  }
  // Some file systems cannot sync a folder and say EINVAL; there the rename is all there is.
  if (::fsync(file.get()) != 0 && errno != EINVAL) {
    throw_errno("fsync", path);
  }
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

void sync_file(const std::filesystem::path& path) {
  sync_path(path, O_RDONLY);
}

void sync_folder(const std::filesystem::path& folder) {
  sync_path(folder, O_RDONLY | O_DIRECTORY);
}

void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    throw_errno("rename " + from.string() + " to", to);
  }
  sync_folder(folder_of(to));
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  const std::filesystem::path temporary = path.string() + ".tmp." + std::to_string(::getpid());
  try {
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) {
      throw_errno("create", temporary);
    }
    for (std::size_t done = 0; done < content.size();) {
      const ssize_t written = ::write(file.get(), content.data() + done, content.size() - done);
      if (written < 0 && errno == EINTR) {
        continue;
      }
      if (written < 0) {
        throw_errno("write", temporary);
      }
      done += static_cast<std::size_t>(written);
    }
    if (::fsync(file.get()) != 0 || file.close() != 0) {
      throw_errno("write", temporary);
    }
    rename_durably(temporary, path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

std::string read_text_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  SHARDGPT_REQUIRE(file.is_open(), "cannot open " + path.string() + ": " + std::strerror(errno));
  std::ostringstream content;
  content << file.rdbuf();
  SHARDGPT_REQUIRE(!file.bad() && !std::filesystem::is_directory(path), "cannot read " + path.string());
  return std::move(content).str();
}

}  // namespace shardgpt
