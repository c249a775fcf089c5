#include "h5/h5_error.hpp"

#include <filesystem>

#include "h5/h5_check.hpp"

namespace shardgpt {
namespace {

/// Appends one entry of the error stack; HDF5 calls it from C, so nothing may leave it.
herr_t append_entry(unsigned /*position*/, const H5E_error2_t* entry, void* text) noexcept {
  try {
    auto& out = *static_cast<std::string*>(text);
    if (entry->desc != nullptr && *entry->desc != '\0') {
      out += (out.empty() ? "" : "; ") + std::string(entry->desc);
    }
    return 0;
  } catch (...) {
    return -1;
  }
}

H5Error::Cause cause_of(const std::string& stack) {
  if (stack.find("unable to lock file") != std::string::npos) {
    return H5Error::Cause::locked;
  }
  return stack.find("errno = ") != std::string::npos ? H5Error::Cause::system : H5Error::Cause::content;
}

}  // namespace

void silence_h5_errors() {
  static const herr_t done = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  (void)done;  // failing to silence costs only noise on standard error
}

void throw_h5_error(const std::string& action, const char* call, const char* file, int line) {
  std::string stack;
  // Upward: the innermost entry, which knows the cause, comes first.
  if (H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, append_entry, &stack) < 0) {
    stack += " (the error stack cannot be read)";
  }
  H5Eclear2(H5E_DEFAULT);
  const H5Error::Cause cause = cause_of(stack);
  std::string message = "cannot " + action + ": ";
  if (cause == H5Error::Cause::locked) {
    message +=
        "another program holds the file locked; close it there, or set HDF5_USE_FILE_LOCKING=FALSE where the "
        "file system has no working locks: ";
  }
  const std::string name = std::filesystem::path(file).filename().string();
  const std::string function = std::string(call).substr(0, std::string(call).find('('));
  message += stack + " [" + function + ", " + name + ":" + std::to_string(line) + "]";
  throw H5Error(cause, message);
}

}  // namespace shardgpt
