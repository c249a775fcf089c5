// A library for LD_PRELOAD that gives programs a slow or failing disk, or an MPI for one thread at a time:
//   SHARDGPT_FAULT_FSYNC_MS=N        each fsync of a checkpoint takes N ms longer
//   SHARDGPT_FAULT_FSYNC_ERROR=NAME  fsync of a checkpoint whose path holds NAME fails with EIO
//   SHARDGPT_FAULT_NO_THREAD_MULTIPLE=1
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

namespace {

std::string path_of(int descriptor) {
  std::string path(4096, '\0');
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
  path.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return path;
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
    if (const char* delay = std::getenv("SHARDGPT_FAULT_FSYNC_MS"); delay != nullptr) {
      std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(delay)));
    }
  }
  return real(descriptor);
}

extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const bool limited = std::getenv("SHARDGPT_FAULT_NO_THREAD_MULTIPLE") != nullptr;
  const int code = PMPI_Init_thread(argc, argv, limited ? MPI_THREAD_SERIALIZED : required, provided);
  if (limited && *provided > MPI_THREAD_SERIALIZED) {
    *provided = MPI_THREAD_SERIALIZED;
  }
  return code;
}
