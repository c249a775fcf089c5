#include "h5/h5_file.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "core/checked.hpp"
#include "core/log.hpp"
#include "h5/h5_check.hpp"

namespace shardgpt {
namespace {

/// HDF5 calls a file that is missing or may not be read by the same name as a damaged one: ask the system.
void require_openable(const std::filesystem::path& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) {
    const int code = errno;
    throw H5Error(H5Error::Cause::system, "cannot open " + path.string() + ": " + std::strerror(code));
  }
  ::close(descriptor);
}

}  // namespace

void H5File::Traits::close(Raw raw) noexcept {
  if (H5Fclose(raw) < 0) {
    log_warning("HDF5 could not close a file");
  }
}

H5File H5File::create(const std::filesystem::path& path, const H5CreateOptions& options) {
  silence_h5_errors();
  const std::string action = "create " + path.string();
  const H5Properties access(SHARDGPT_H5(action, H5Pcreate(H5P_FILE_ACCESS)));
  const H5F_libver_t newest = options.virtual_datasets ? H5F_LIBVER_V110 : H5F_LIBVER_V18;
  SHARDGPT_H5(action, H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, newest));
  const auto alignment = narrow<hsize_t>(options.alignment_bytes);
  SHARDGPT_H5(action, H5Pset_alignment(access.get(), alignment, alignment));
  // No times in the file: the same content gives the same bytes.
  const H5Properties creation(SHARDGPT_H5(action, H5Pcreate(H5P_FILE_CREATE)));
  SHARDGPT_H5(action, H5Pset_obj_track_times(creation.get(), false));
  return {SHARDGPT_H5(action, H5Fcreate(path.c_str(), H5F_ACC_EXCL, creation.get(), access.get())), path};
}

H5File H5File::open(const std::filesystem::path& path, Access access) {
  silence_h5_errors();
  require_openable(path, access == Access::read ? O_RDONLY : O_RDWR);
  const unsigned flags = access == Access::read ? H5F_ACC_RDONLY : H5F_ACC_RDWR;
  return {SHARDGPT_H5("open " + path.string(), H5Fopen(path.c_str(), flags, H5P_DEFAULT)), path};
}

void H5File::flush() {
  SHARDGPT_H5("flush " + path_.string(), H5Fflush(handle_.get(), H5F_SCOPE_GLOBAL));
}

void H5File::close() {
  SHARDGPT_H5("close " + path_.string(), H5Fclose(handle_.release()));
}

}  // namespace shardgpt
