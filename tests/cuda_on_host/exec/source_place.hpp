#pragma once

namespace cuda_on_host {

/// Where in the sources a call is written: as a default argument, `SourcePlace::here()` is the caller's
/// place. (Not std::source_location, which clang-tidy 14 does not know.)
struct SourcePlace {
  const char* file = "";
  int line = 0;

  static constexpr SourcePlace here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace cuda_on_host
