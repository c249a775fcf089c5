#include "tests/cuda_on_host/exec/source_lines.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <sstream>

#include <dlfcn.h>
#include <unistd.h>

namespace cuda_on_host {

namespace {

struct ClosePipe {
  void operator()(std::FILE* pipe) const { pclose(pipe); }
};

}  // namespace

std::string source_line(const void* code) {
  Dl_info info{};
  if (dladdr(code, &info) == 0) {
    return "an unknown place";
  }
  // The instruction of the call, not the one after it.
  const std::uintptr_t offset =
      reinterpret_cast<std::uintptr_t>(code) - reinterpret_cast<std::uintptr_t>(info.dli_fbase) - 1;
  std::ostringstream command;
  command << "addr2line --basenames --demangle --functions --inlines --pretty-print --exe=/proc/" << getpid()
          << "/exe 0x" << std::hex << offset << " 2>/dev/null";
  std::string found;
  if (const std::unique_ptr<std::FILE, ClosePipe> pipe(popen(command.str().c_str(), "r")); pipe != nullptr) {
    std::array<char, 512> text{};
    while (std::fgets(text.data(), static_cast<int>(text.size()), pipe.get()) != nullptr) {
      found += text.data();
    }
  }
  if (found.empty() || found.starts_with("??")) {
    std::ostringstream bare;
    bare << "offset 0x" << std::hex << offset << " of " << info.dli_fname;
    return bare.str();
  }
  std::replace(found.begin(), found.end(), '\n', ' ');
  return found.substr(0, found.find_last_not_of(' ') + 1);
}

}  // namespace cuda_on_host
