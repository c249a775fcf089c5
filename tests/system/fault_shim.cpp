// A library for LD_PRELOAD that gives programs a slow or failing disk, or an MPI for one thread at a time:
//   SHARDGPT_FAULT_FSYNC_MS=N        each fsync of a checkpoint takes N ms longer
//   SHARDGPT_FAULT_FSYNC_ERROR=NAME  fsync of a checkpoint whose path holds NAME fails with EIO
//   SHARDGPT_FAULT_ROW_MS=N          each row of metrics takes N ms longer, so that a step costs time and no
//   work SHARDGPT_FAULT_NO_THREAD_MULTIPLE=1
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <mpi.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

std::string path_of(int descriptor) {
  std::string path(4096, '\0');
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
  path.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return path;
}

void delay(const char* milliseconds) {
  if (milliseconds != nullptr) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(milliseconds)));
  }
}

void before_write(int descriptor) {
  if (const char* wanted = std::getenv("SHARDGPT_FAULT_ROW_MS");
      wanted != nullptr && path_of(descriptor).ends_with("/metrics.jsonl")) {
    delay(wanted);
  }
}

}  // namespace

extern "C" int fsync(int descriptor) {
  using Call = int (*)(int);
  static const auto real = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "fsync"));
  const std::string path = path_of(descriptor);
  if (path.ends_with(".h5.tmp")) {
    if (const char* wanted = std::getenv("SHARDGPT_FAULT_FSYNC_ERROR");
        wanted != nullptr && path.find(wanted) != std::string::npos) {
      errno = EIO;
      return -1;
    }
    delay(std::getenv("SHARDGPT_FAULT_FSYNC_MS"));
  }
  return real(descriptor);
}

extern "C" ssize_t write(int descriptor, const void* bytes, size_t count) {
  using Call = ssize_t (*)(int, const void*, size_t);
  static const auto real = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "write"));
  before_write(descriptor);
  return real(descriptor, bytes, count);
}

extern "C" ssize_t writev(int descriptor, const iovec* parts, int count) {
  using Call = ssize_t (*)(int, const iovec*, int);
  static const auto real = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "writev"));
  before_write(descriptor);
  return real(descriptor, parts, count);
}

extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const bool limited = std::getenv("SHARDGPT_FAULT_NO_THREAD_MULTIPLE") != nullptr;
  const int code = PMPI_Init_thread(argc, argv, limited ? MPI_THREAD_SERIALIZED : required, provided);
  if (limited && *provided > MPI_THREAD_SERIALIZED) {
    *provided = MPI_THREAD_SERIALIZED;
  }
  return code;
}
